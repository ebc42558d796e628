// SPDX-License-Identifier: Apache-2.0
#include "models/layers/output_cast.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/layers/checks.h"

namespace octet::models::internal {
namespace {

using float8::CastLayout;
using float8::CastTarget;
using float8::Granularity;

// Of rows, so that a launch's grid holds the tiles.
constexpr int64_t kMaxTileRows = int64_t{65535} * 128;

absl::Status CheckTarget(absl::string_view layer, const CastTarget& target) {
  const DType dtype = target.plan.dtype;
  if (dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(layer, ": a cast to ", Name(dtype),
                   ", but outputs become f8_e4m3 or f8_e5m2"));
}

bool IsRowBlocks(const CastTarget& target) {
  return target.plan.granularity == Granularity::kBlock1x128 &&
         target.layout == CastLayout::kRowMajor;
}
bool IsColumnBlocks(const CastTarget& target) {
  return target.plan.granularity == Granularity::kBlock128x1 &&
         target.layout == CastLayout::kTransposed;
}

bool IsTransposed(const CastTarget& target) {
  return target.out != nullptr && target.layout != CastLayout::kRowMajor;
}

bool IsLocal(const CastTarget& target) {
  return (IsRowBlocks(target) || IsColumnBlocks(target)) &&
         target.plan.rounding != float8::ScaleRounding::kE8m0;
}

}  // namespace

absl::Status CheckOutputCast(const Stream& stream, absl::string_view layer,
                             const TensorView& output, const OutputCast& cast) {
  if (output.dtype() == DType::kF64) {
    return absl::InvalidArgumentError(
        absl::StrCat(layer, ": the output is ", output.ToString(),
                     ", and float8 is made of f32 or bf16"));
  }
  if (cast.first.out == nullptr || cast.first.out == cast.second.out) {
    return absl::InvalidArgumentError(absl::StrCat(
        layer, ": the casts need outputs, and not the same one twice"));
  }
  OCTET_RETURN_IF_ERROR(CheckTarget(layer, cast.first));
  if (cast.second.out != nullptr) {
    OCTET_RETURN_IF_ERROR(CheckTarget(layer, cast.second));
  }
  if (!cast.known_scale.present()) {
    if (!cast.seen_amax.present()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(layer, ": seen_amax is ",
                                                   cast.seen_amax.ToString(),
                                                   ", but no scale is known"));
  }
  if (cast.second.out != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(layer, ": a second cast, but known_scale is ",
                     cast.known_scale.ToString()));
  }
  const Shape shape = float8::ScaleShape(cast.first.plan.granularity,
                                         output.rows(), output.cols());
  OCTET_RETURN_IF_ERROR(CheckTensor(
      stream, {layer, "known_scale", cast.known_scale}, DType::kF32, shape));
  if (!cast.seen_amax.present()) return absl::OkStatus();
  return CheckTensor(stream, {layer, "seen_amax", cast.seen_amax}, DType::kF32,
                     shape);
}

absl::Status CastOutput(const Stream& stream, const TensorView& output,
                        const TensorView& known_amax, const OutputCast& cast) {
  const CastTarget& first = cast.first;
  float8::CastOptions options;
  options.layout = first.layout;
  if (cast.known_scale.present()) {
    options.seen_amax = cast.seen_amax;
    return float8::CastWithScale(stream, output, cast.known_scale, first.plan,
                                 options, first.out);
  }
  if (cast.second.out != nullptr) {
    return float8::CastPair(stream, output, first, cast.second);
  }
  if (first.plan.granularity == Granularity::kTensor) {
    options.known_amax = known_amax;
  }
  return float8::Cast(stream, output, first.plan, options, first.out);
}

TileFusion TileFusionOf(const TensorView& output, const OutputCast& cast) {
  const bool transposed = IsTransposed(cast.first) || IsTransposed(cast.second);
  if (output.device().kind != DeviceKind::kCuda ||
      output.dtype() != DType::kBf16 || output.num_elements() == 0 ||
      output.cols() % 8 != 0 || output.rows() > kMaxTileRows ||
      (transposed && output.rows() % 16 != 0)) {
    return TileFusion::kNone;
  }
  if (cast.known_scale.present()) {
    return cast.first.plan.granularity == Granularity::kTensor
               ? TileFusion::kKnown
               : TileFusion::kNone;
  }
  if (!IsLocal(cast.first)) return TileFusion::kNone;
  if (cast.second.out == nullptr) return TileFusion::kLocal;
  return IsLocal(cast.second) &&
                 IsRowBlocks(cast.first) != IsRowBlocks(cast.second)
             ? TileFusion::kLocal
             : TileFusion::kNone;
}

const CastTarget* RowTarget(const OutputCast& cast) {
  if (IsRowBlocks(cast.first)) return &cast.first;
  return cast.second.out != nullptr && IsRowBlocks(cast.second) ? &cast.second
                                                                : nullptr;
}

const CastTarget* ColumnTarget(const OutputCast& cast) {
  if (IsColumnBlocks(cast.first)) return &cast.first;
  return cast.second.out != nullptr && IsColumnBlocks(cast.second)
             ? &cast.second
             : nullptr;
}

bool IsVectorAligned(const TensorView& view) {
  return reinterpret_cast<uintptr_t>(view.data()) % 16 == 0;
}

absl::StatusOr<TensorView> PresentOr(const TensorView& view,
                                     const TensorView& like, Tensor* memory) {
  if (view.present()) return view;
  OCTET_ASSIGN_OR_RETURN(
      *memory, Tensor::Allocate(like.dtype(), like.shape(), like.device()));
  return memory->view();
}

}  // namespace octet::models::internal
