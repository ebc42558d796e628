// SPDX-License-Identifier: Apache-2.0

// Fills the amax slot for CUDA. Arguments were checked by amax.cc.
#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "float8/amax_kernel.h"
#include "float8/cuda/amax_kernel.h"

namespace octet::float8::internal {
namespace {

absl::StatusOr<AmaxInput> InputOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return AmaxInput::kF32;
    case DType::kBf16:
      return AmaxInput::kBf16;
    case DType::kF16:
      return AmaxInput::kF16;
    default:
      return absl::UnimplementedError(
          absl::StrCat("amax: no CUDA kernel for ", Name(dtype)));
  }
}

absl::Status AmaxCuda(const Stream& stream, const TensorView& in,
                      Granularity granularity, const TensorView& out) {
  const Tile tile = TileOf(granularity);
  AmaxProblem problem;
  problem.in = in.data();
  OCTET_ASSIGN_OR_RETURN(problem.input, InputOf(in.dtype()));
  problem.rows = in.rows();
  problem.cols = in.cols();
  problem.tile_rows = tile.rows == 0 ? in.rows() : tile.rows;
  problem.tile_cols = tile.cols == 0 ? in.cols() : tile.cols;
  problem.out = out.as<float>();
  problem.tiles = out.num_elements();
  OCTET_RETURN_IF_ERROR(
      CudaStatus(cudaSetDevice(stream.device().index), "cudaSetDevice"));
  return CudaStatus(
      LaunchAmax(problem, static_cast<cudaStream_t>(stream.native())),
      absl::StrCat("amax of ", in.ToString()));
}

[[maybe_unused]] const bool kRegistered =
    AmaxSlot().Register(DeviceKind::kCuda, &AmaxCuda);

}  // namespace
}  // namespace octet::float8::internal
