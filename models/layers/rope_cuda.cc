// SPDX-License-Identifier: Apache-2.0

// Fills the rotation's slot for CUDA. Arguments were checked by rope.cc.
#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "models/layers/cuda/rope_kernel.h"
#include "models/layers/layers_cuda.h"
#include "models/layers/rope_kernel.h"

namespace octet::models::internal {
namespace {

absl::Status RopeCuda(const Stream& stream, const TensorView& table,
                      RopeDirection direction, const TensorView& x,
                      const TensorView& amax) {
  RopeProblem problem;
  OCTET_ASSIGN_OR_RETURN(problem.type, ElementTypeOf("rope", x));
  if (x.num_elements() == 0) return ZeroAmax(stream, amax);
  problem.rows = x.shape().dim(0) * x.shape().dim(1);
  problem.length = x.shape().dim(1);
  problem.heads = x.shape().dim(2);
  problem.half = x.shape().dim(3) / 2;
  problem.sign = direction == RopeDirection::kForward ? 1.0f : -1.0f;
  problem.table = table.as<float>();
  problem.x = x.data();
  problem.amax = amax.as<float>();
  OCTET_ASSIGN_OR_RETURN(problem.counters, CountersOf(stream, amax.present()));
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  return CudaStatus(LaunchRope(problem, NativeOf(stream)),
                    absl::StrCat("rope of ", x.ToString()));
}

[[maybe_unused]] const bool kRegistered =
    RopeSlot().Register(DeviceKind::kCuda, &RopeCuda);

}  // namespace
}  // namespace octet::models::internal
