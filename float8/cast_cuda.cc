// SPDX-License-Identifier: Apache-2.0

// Fills the cast slots for CUDA: chooses kernels and their scratch memory.
// Arguments were checked and outputs allocated by cast.cc.
//
// One launch where a tile's scale is known or follows from the tile alone. A
// scale of a whole tensor, row or column needs an amax first, after which the
// cast runs from the end: what the amax read last is still in the cache.
#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "float8/cast_cuda_problem.h"
#include "float8/cast_kernel.h"
#include "float8/cuda/amax_kernel.h"
#include "float8/cuda/cast_kernel.h"
#include "float8/cuda/operands.h"

namespace octet::float8::internal {
namespace {

// Up to this size each block takes the amax of the whole tensor by itself,
// which costs less than a launch.
constexpr int64_t kOneLaunchBytes = 128 << 10;

absl::Status CastEmpty(const CastQueue& queue, const CastForm& form,
                       const CastProblem& p, const TensorView& column_sum) {
  const Shape& shape = form.scale.shape();
  OCTET_RETURN_IF_ERROR(
      queue.Done(LaunchSettleScales(p.scale, shape.rows(), shape.cols(),
                                    Fp8Of(form.plan.dtype), queue.native()),
                 "scales of an empty matrix"));
  if (column_sum.empty()) return absl::OkStatus();
  return FillZero(queue.stream(), column_sum);
}

// A tile of the kernel holds all that share a scale.
bool IsLocal(const CastForm& form, const CastProblem& p, bool in_order) {
  switch (form.plan.granularity) {
    case Granularity::kTensor:
      return in_order ? p.in.rows * p.in.cols <= FlatElements(p.in.type)
                      : p.in.rows <= kTile && p.in.cols <= kTile;
    case Granularity::kRow:
      return p.in.cols <= kTile;
    case Granularity::kColumn:
      return p.in.rows <= kTile;
    default:
      return true;
  }
}

}  // namespace

absl::Status LaunchCast(const CastQueue& queue, const CastForm& form,
                        const CastProblem& p, const TensorView& column_sum) {
  if (p.in.rows == 0 || p.in.cols == 0) {
    return CastEmpty(queue, form, p, column_sum);
  }
  const Fp8 format = Fp8Of(form.plan.dtype);
  const bool in_order = form.plan.granularity == Granularity::kTensor &&
                        p.transposed == nullptr && column_sum.empty();
  OCTET_RETURN_IF_ERROR(queue.Done(
      in_order ? LaunchCastFlat(p, format, queue.native())
               : LaunchCastTiles(p, format, KindOf(form.plan.granularity),
                                 queue.native()),
      "cast"));
  if (column_sum.empty()) return absl::OkStatus();
  return queue.Done(
      LaunchColumnSum(p.column_partials, Tiles(p.in.rows), p.in.cols,
                      column_sum.as<float>(), queue.native()),
      "column sum");
}

absl::Status CastOne(const CastQueue& queue, const TensorView& in,
                     const CastForm& form, const CastOptions& options) {
  const Granularity tiles = form.plan.granularity;
  const TensorView& sum = options.column_sum;
  CastProblem p = ProblemOf(in, form);
  const bool known = options.known_amax.present();
  if (known) {
    p.scale.source = ScaleSource::kAmax;
    p.scale.from = options.known_amax.as<float>();
  }
  if (in.empty()) return LaunchCast(queue, form, p, options.column_sum);
  const bool row_major = p.transposed == nullptr && sum.empty();
  if (!known && tiles == Granularity::kRow && row_major &&
      CastRowsFits(p.in, queue.device())) {
    return queue.Done(LaunchCastRows(p, Fp8Of(form.plan.dtype), queue.native()),
                      "cast");
  }
  const int64_t partials = sum.empty() ? 0 : Tiles(p.in.rows) * p.in.cols;
  const bool in_order = row_major && tiles == Granularity::kTensor;
  const bool local = !known && IsLocal(form, p, in_order);
  const bool whole = !known && !local && tiles == Granularity::kTensor &&
                     in.num_bytes() <= kOneLaunchBytes;
  if (known || local || whole) {
    if (whole) p.scale.source = ScaleSource::kInput;
    if (partials > 0) {
      OCTET_ASSIGN_OR_RETURN(p.column_partials, queue.Floats(partials));
    }
    return LaunchCast(queue, form, p, sum);
  }
  OCTET_ASSIGN_OR_RETURN(uint32_t* const counters, queue.stream().Counters());
  if (tiles == Granularity::kTensor && sum.empty() &&
      CastResidentFits(p, queue.device())) {
    return queue.Done(
        LaunchCastResident(p, Fp8Of(form.plan.dtype), queue.device(), counters,
                           queue.native()),
        "cast");
  }
  AmaxProblem amax;
  amax.in = p.in;
  amax.tile = tiles == Granularity::kTensor ? AmaxTile::kTensor
              : tiles == Granularity::kRow  ? AmaxTile::kRow
                                            : AmaxTile::kColumn;
  const int64_t outputs = form.scale.num_elements();
  const int64_t parts = AmaxPartials(amax, queue.device());
  OCTET_ASSIGN_OR_RETURN(float* const scratch,
                         queue.Floats(outputs + parts + partials));
  amax.out = scratch;
  amax.partial = scratch + outputs;
  if (partials > 0) p.column_partials = scratch + outputs + parts;
  amax.counters = counters;
  OCTET_RETURN_IF_ERROR(
      queue.Done(LaunchAmax(amax, queue.device(), queue.native()), "amax"));
  p.scale.source = ScaleSource::kAmax;
  p.scale.from = scratch;
  p.reversed = true;
  return LaunchCast(queue, form, p, sum);
}

namespace {

bool Is(const CastForm& form, Granularity granularity, bool transposed) {
  return form.plan.granularity == granularity &&
         (form.transposed.data() != nullptr) == transposed &&
         (form.data.data() != nullptr) == !transposed;
}

// The amaxes of rows and columns from one read, then both casts from another.
absl::Status CastRowsAndColumns(const CastQueue& queue, const CastForm& rows,
                                const CastForm& columns, CastProblem p,
                                CastProblem second) {
  const Fp8 format = Fp8Of(rows.plan.dtype);
  const int64_t parts = AmaxOfRowsAndColumnsLaunch(p.in, queue.device()).splits;
  OCTET_ASSIGN_OR_RETURN(
      float* const partial,
      queue.Floats(parts * p.in.cols + p.in.rows + p.in.cols));
  float* const row_amax = partial + parts * p.in.cols;
  float* const column_amax = row_amax + p.in.rows;
  OCTET_RETURN_IF_ERROR(queue.Done(
      LaunchAmaxOfRowsAndColumns(p.in, row_amax, column_amax, partial,
                                 queue.device(), queue.native()),
      "amax of rows and columns"));
  p.scale.source = second.scale.source = ScaleSource::kAmax;
  p.scale.from = row_amax;
  second.scale.from = column_amax;
  p.reversed = second.reversed = true;
  if (rows.plan.dtype != columns.plan.dtype) {
    OCTET_RETURN_IF_ERROR(LaunchCast(queue, rows, p, TensorView()));
    second.reversed = false;
    return LaunchCast(queue, columns, second, TensorView());
  }
  p.transposed = second.transposed;
  p.transposed_scale = second.scale;
  return queue.Done(
      LaunchCastTiles(p, format, ScaleKind::kRowAndColumn, queue.native()),
      "cast of a pair");
}

// 1x128 row-major with 128x1 transposed; row with column likewise. False: not
// such a pair, and nothing is queued.
absl::StatusOr<bool> CastAsPair(const CastQueue& queue, const TensorView& in,
                                const CastForm& rows, const CastForm& columns) {
  CastProblem p = ProblemOf(in, rows);
  const CastProblem second = ProblemOf(in, columns);
  if (Is(rows, Granularity::kBlock1x128, false) &&
      Is(columns, Granularity::kBlock128x1, true) &&
      rows.plan.dtype == columns.plan.dtype) {
    p.transposed = second.transposed;
    p.transposed_scale = second.scale;
    OCTET_RETURN_IF_ERROR(
        queue.Done(LaunchCastTiles(p, Fp8Of(rows.plan.dtype),
                                   ScaleKind::kRowAndColumn, queue.native()),
                   "cast of a pair"));
    return true;
  }
  if (!Is(rows, Granularity::kRow, false) ||
      !Is(columns, Granularity::kColumn, true) ||
      !AmaxOfRowsAndColumnsFits(p.in)) {
    return false;
  }
  OCTET_RETURN_IF_ERROR(CastRowsAndColumns(queue, rows, columns, p, second));
  return true;
}

absl::Status CastCuda(const Stream& stream, const TensorView& in,
                      absl::Span<const CastForm> forms,
                      const CastOptions& options) {
  const CastQueue queue(stream);
  OCTET_RETURN_IF_ERROR(queue.Start());
  for (const CastForm& form : forms) {
    OCTET_RETURN_IF_ERROR(CheckCudaPlan(form.plan));
  }
  if (forms.size() == 2 && !in.empty()) {
    for (int first : {0, 1}) {
      OCTET_ASSIGN_OR_RETURN(
          const bool done,
          CastAsPair(queue, in, forms[first], forms[1 - first]));
      if (done) return absl::OkStatus();
    }
  }
  for (const CastForm& form : forms) {
    OCTET_RETURN_IF_ERROR(CastOne(queue, in, form, options));
  }
  return absl::OkStatus();
}

absl::Status CastWithScaleCuda(const Stream& stream, const TensorView& in,
                               const CastForm& form,
                               const CastOptions& options) {
  const CastQueue queue(stream);
  OCTET_RETURN_IF_ERROR(queue.Start());
  OCTET_RETURN_IF_ERROR(CheckCudaPlan(form.plan));
  CastProblem p = ProblemOf(in, form);
  p.scale.source = ScaleSource::kScale;
  p.scale.from = form.scale.as<float>();
  p.scale.seen_amax = options.seen_amax.as<float>();
  if (in.empty()) return LaunchCast(queue, form, p, options.column_sum);
  const bool is_shared =
      p.scale.scale.row_stride == 0 || p.scale.scale.col_stride == 0;
  if (p.scale.seen_amax != nullptr && is_shared) {
    OCTET_RETURN_IF_ERROR(
        queue.Zero(p.scale.seen_amax, options.seen_amax.num_elements()));
  }
  if (!options.column_sum.empty()) {
    OCTET_ASSIGN_OR_RETURN(p.column_partials,
                           queue.Floats(Tiles(p.in.rows) * p.in.cols));
  }
  return LaunchCast(queue, form, p, options.column_sum);
}

// Of 0, 1, 32 and 128.
int LogOfSide(int64_t side) {
  int log = 0;
  while (int64_t{1} << log < side) ++log;
  return log;
}

absl::Status DequantizeCuda(const Stream& stream, const CastForm& form,
                            const TensorView& out) {
  const CastQueue queue(stream);
  OCTET_RETURN_IF_ERROR(queue.Start());
  if (out.empty()) return absl::OkStatus();
  DequantizeProblem p;
  p.transposed = form.data.data() == nullptr;
  p.in = (p.transposed ? form.transposed : form.data).as<uint8_t>();
  p.rows = out.rows();
  p.cols = out.cols();
  // An axis that shares one scale has stride 0.
  const Tile tile = TileOf(form.plan.granularity);
  p.row_shift = LogOfSide(tile.rows);
  p.col_shift = LogOfSide(tile.cols);
  p.scale = {form.scale.as<float>(), tile.rows == 0 ? 0 : form.scale.cols(),
             tile.cols == 0 ? 0 : 1};
  p.type = ElementOf(out.dtype());
  p.out = out.data();
  return queue.Done(LaunchDequantize(p, Fp8Of(form.plan.dtype), queue.native()),
                    "dequantize");
}

[[maybe_unused]] const bool kRegistered =
    CastSlot().Register(DeviceKind::kCuda, &CastCuda) &&
    CastWithScaleSlot().Register(DeviceKind::kCuda, &CastWithScaleCuda) &&
    CastManySlot().Register(DeviceKind::kCuda, &CastManyCuda) &&
    DequantizeSlot().Register(DeviceKind::kCuda, &DequantizeCuda);

}  // namespace
}  // namespace octet::float8::internal
