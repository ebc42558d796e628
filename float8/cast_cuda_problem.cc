// SPDX-License-Identifier: Apache-2.0
#include "float8/cast_cuda_problem.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "float8/cuda/operands.h"

namespace octet::float8::internal {
namespace {

// The strides of ScaleShape and ReciprocalShape.
ScaleTarget TargetOf(const CastForm& form, int64_t rows, int64_t cols) {
  ScaleTarget t;
  t.power_of_two = form.plan.rounding == ScaleRounding::kPowerOfTwo;
  switch (form.plan.granularity) {
    case Granularity::kRow:
      t.scale.row_stride = t.reciprocal.row_stride = 1;
      break;
    case Granularity::kColumn:
      t.scale.col_stride = t.reciprocal.col_stride = 1;
      break;
    case Granularity::kBlock1x128:
      t.scale = {nullptr, Tiles(cols), 1};
      t.reciprocal = {nullptr, 1, RoundUp(rows, 4)};
      break;
    case Granularity::kBlock128x1:
      t.scale = {nullptr, cols, 1};
      t.reciprocal = {nullptr, RoundUp(cols, 4), 1};
      break;
    case Granularity::kBlock128x128:
      t.scale = {nullptr, Tiles(cols), 1};
      t.reciprocal = {nullptr, RoundUp(Tiles(cols), 4), 1};
      t.transposed_reciprocal = {nullptr, 1, RoundUp(Tiles(rows), 4)};
      break;
    default:
      break;
  }
  t.scale.data = form.scale.as<float>();
  t.reciprocal.data = form.reciprocal.as<float>();
  t.transposed_reciprocal.data = form.transposed_reciprocal.as<float>();
  return t;
}

}  // namespace

CastQueue::CastQueue(const Stream& stream)
    : stream_(stream),
      device_(stream.device().index),
      native_(static_cast<cudaStream_t>(stream.native())) {}

absl::Status CastQueue::Start() const {
  return CudaStatus(cudaSetDevice(device_), "cudaSetDevice");
}

absl::StatusOr<float*> CastQueue::Floats(int64_t n) const {
  constexpr int64_t kBytes = sizeof(float);
  OCTET_ASSIGN_OR_RETURN(void* const scratch,
                         stream_.Scratch(std::max<int64_t>(n, 1) * kBytes));
  return static_cast<float*>(scratch);
}

absl::Status CastQueue::Zero(float* data, int64_t n) const {
  return Done(cudaMemsetAsync(data, 0, n * sizeof(float), native_), "fill");
}

absl::Status CastQueue::Done(cudaError_t error, absl::string_view what) const {
  return error == cudaSuccess ? absl::OkStatus()
                              : CudaStatus(error, absl::StrCat("cast: ", what));
}

absl::Status CheckCudaPlan(const CastPlan& plan) {
  if (plan.granularity == Granularity::kBlock1x32 ||
      plan.granularity == Granularity::kBlock32x1 ||
      plan.rounding == ScaleRounding::kE8m0) {
    return absl::UnimplementedError(
        absl::StrCat("cast: no CUDA kernel for ", Name(plan.granularity), " ",
                     Name(plan.rounding), ", the CPU alone has it"));
  }
  return absl::OkStatus();
}

ScaleKind KindOf(Granularity granularity) {
  switch (granularity) {
    case Granularity::kRow:
    case Granularity::kBlock1x128:
      return ScaleKind::kRow;
    case Granularity::kColumn:
    case Granularity::kBlock128x1:
      return ScaleKind::kColumn;
    default:
      return ScaleKind::kTile;
  }
}

CastProblem ProblemOf(const TensorView& in, const CastForm& form) {
  CastProblem p;
  p.in = MatrixOf(in);
  p.data = form.data.as<uint8_t>();
  p.transposed = form.transposed.as<uint8_t>();
  p.scale = TargetOf(form, p.in.rows, p.in.cols);
  return p;
}

}  // namespace octet::float8::internal
