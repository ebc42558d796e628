// SPDX-License-Identifier: Apache-2.0
#include "models/layers/rms_norm_cast.h"

#include "base/status_macros.h"
#include "float8/cast_kernel.h"
#include "models/layers/checks.h"
#include "models/layers/rms_norm_cast_kernel.h"
#include "models/layers/rms_norm_kernel.h"

namespace octet::models {
namespace internal {
namespace {

using float8::CastLayout;
using float8::Granularity;

// Rows that a block holds in registers, in elements of bf16.
constexpr int64_t kMaxHidden = 16384;

// A row is enough to know the scales of these.
bool IsRowwise(const OutputCast& cast) {
  const float8::CastPlan& plan = cast.first.plan;
  if (cast.second.out != nullptr ||
      cast.first.layout != CastLayout::kRowMajor) {
    return false;
  }
  if (cast.known_scale.present()) {
    return plan.granularity == Granularity::kTensor;
  }
  return (plan.granularity == Granularity::kRow ||
          plan.granularity == Granularity::kBlock1x128) &&
         plan.rounding != float8::ScaleRounding::kE8m0;
}

}  // namespace

RmsNormFusion RmsNormFusionOf(const RmsNormCastArgs& args) {
  const RmsNormForwardArgs& norm = args.norm;
  const TensorView& like = norm.residual;
  // An amax has no place in a fused cast, which has seen_amax for it.
  if (norm.amax.present() || like.device().kind != DeviceKind::kCuda ||
      like.dtype() != DType::kBf16 || like.num_elements() == 0 ||
      like.cols() % 8 != 0 || like.cols() > kMaxHidden) {
    return RmsNormFusion::kNone;
  }
  for (const TensorView& view :
       {norm.residual, norm.delta, norm.weight, norm.x, norm.y}) {
    if (!IsVectorAligned(view)) return RmsNormFusion::kNone;
  }
  if (IsRowwise(args.cast)) return RmsNormFusion::kRows;
  return !norm.y.present() && TileFusionOf(like, args.cast) != TileFusion::kNone
             ? RmsNormFusion::kTiles
             : RmsNormFusion::kNone;
}

KernelSlot<RmsNormCastKernel>& RmsNormCastSlot() {
  static KernelSlot<RmsNormCastKernel> slot(
      "//models/layers:rms_norm_cast_cuda", nullptr);
  return slot;
}

}  // namespace internal

absl::Status RmsNormCast(const Stream& stream, const RmsNormCastArgs& args) {
  const TensorView& like = args.norm.residual;
  OCTET_RETURN_IF_ERROR(
      internal::CheckOutputCast(stream, "rms_norm_cast", like, args.cast));
  if (internal::RmsNormFusionOf(args) == internal::RmsNormFusion::kNone) {
    RmsNormForwardArgs norm = args.norm;
    Tensor memory;
    OCTET_ASSIGN_OR_RETURN(norm.y, internal::PresentOr(norm.y, like, &memory));
    OCTET_RETURN_IF_ERROR(RmsNormForward(stream, norm));
    return internal::CastOutput(stream, norm.y, norm.amax, args.cast);
  }
  RmsNormCastArgs whole = args;
  OCTET_RETURN_IF_ERROR(internal::CheckRmsNormForward(stream, &whole.norm));
  for (const float8::CastTarget* target :
       {&args.cast.first, &args.cast.second}) {
    if (target->out == nullptr) continue;
    OCTET_RETURN_IF_ERROR(float8::internal::FitQuantized(
        like, target->plan, target->layout, target->out));
  }
  OCTET_ASSIGN_OR_RETURN(internal::RmsNormCastKernel* const kernel,
                         internal::RmsNormCastSlot().Get(stream.device()));
  return kernel(stream, whole);
}

bool RmsNormCastIsFused(const RmsNormCastArgs& args) {
  return internal::RmsNormFusionOf(args) != internal::RmsNormFusion::kNone;
}

}  // namespace octet::models
