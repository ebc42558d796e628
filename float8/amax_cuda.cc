// SPDX-License-Identifier: Apache-2.0

// Fills the amax slot for CUDA. Arguments were checked by amax.cc.
#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "float8/amax_kernel.h"
#include "float8/cuda/amax_kernel.h"
#include "float8/cuda/operands.h"

namespace octet::float8::internal {
namespace {

AmaxTile TileFor(Granularity granularity) {
  switch (granularity) {
    case Granularity::kTensor:
      return AmaxTile::kTensor;
    case Granularity::kRow:
      return AmaxTile::kRow;
    case Granularity::kColumn:
      return AmaxTile::kColumn;
    case Granularity::kBlock1x128:
      return AmaxTile::k1x128;
    case Granularity::kBlock128x1:
      return AmaxTile::k128x1;
    case Granularity::kBlock128x128:
      return AmaxTile::k128x128;
    case Granularity::kBlock1x32:
      return AmaxTile::k1x32;
    case Granularity::kBlock32x1:
      break;
  }
  return AmaxTile::k32x1;
}

absl::Status AmaxCuda(const Stream& stream, const TensorView& in,
                      Granularity granularity, const TensorView& out,
                      const AmaxOptions& options) {
  const int device = stream.device().index;
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  if (in.empty()) return FillZero(stream, out);
  AmaxProblem problem;
  problem.in = MatrixOf(in);
  problem.tile = TileFor(granularity);
  problem.meeting = options.algorithm == AmaxAlgorithm::kAtomic
                        ? AmaxMeeting::kAtomic
                        : AmaxMeeting::kTwoStage;
  problem.out = out.as<float>();
  if (const int64_t partials = AmaxPartials(problem, device); partials > 0) {
    OCTET_ASSIGN_OR_RETURN(
        void* const scratch,
        stream.Scratch(partials * static_cast<int64_t>(sizeof(float))));
    problem.partial = static_cast<float*>(scratch);
  }
  if (problem.tile == AmaxTile::kTensor) {
    OCTET_ASSIGN_OR_RETURN(problem.counters, stream.Counters());
  }
  const cudaError_t error =
      LaunchAmax(problem, device, static_cast<cudaStream_t>(stream.native()));
  if (error == cudaSuccess) return absl::OkStatus();
  return CudaStatus(error, absl::StrCat("amax of ", in.ToString()));
}

[[maybe_unused]] const bool kRegistered =
    AmaxSlot().Register(DeviceKind::kCuda, &AmaxCuda);

}  // namespace
}  // namespace octet::float8::internal
