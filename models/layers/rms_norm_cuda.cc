// SPDX-License-Identifier: Apache-2.0

// Fills the normalisation's slots for CUDA. Arguments were checked by
// rms_norm.cc.
#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "models/layers/cuda/rms_norm_kernel.h"
#include "models/layers/layers_cuda.h"
#include "models/layers/rms_norm_kernel.h"

namespace octet::models::internal {
namespace {

absl::Status RmsNormForwardCuda(const Stream& stream,
                                const RmsNormForwardArgs& args) {
  OCTET_ASSIGN_OR_RETURN(const RmsNormForwardProblem problem,
                         RmsNormForwardProblemOf(stream, args));
  if (args.residual.num_elements() == 0) return ZeroAmax(stream, args.amax);
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  return CudaStatus(LaunchRmsNormForward(problem, NativeOf(stream)),
                    absl::StrCat("rms_norm of ", args.residual.ToString()));
}

absl::Status RmsNormBackwardCuda(const Stream& stream,
                                 const RmsNormBackwardArgs& args) {
  RmsNormBackwardProblem problem;
  OCTET_ASSIGN_OR_RETURN(problem.type, ElementTypeOf("rms_norm", args.x));
  if (args.x.num_elements() == 0) return ZeroAmax(stream, args.dx_amax);
  problem.rows = args.x.rows();
  problem.hidden = args.x.cols();
  problem.x = args.x.data();
  problem.weight = args.weight.data();
  problem.rstd = args.rstd.as<float>();
  problem.dy = args.dy.data();
  problem.dx = args.dx.data();
  problem.dweight = args.dweight.as<float>();
  problem.dx_amax = args.dx_amax.as<float>();
  OCTET_ASSIGN_OR_RETURN(problem.counters,
                         CountersOf(stream, args.dx_amax.present()));
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  const RmsNormBackwardPlan plan = PlanRmsNormBackward(problem);
  OCTET_ASSIGN_OR_RETURN(void* const partial,
                         stream.Scratch(plan.blocks * problem.hidden *
                                        static_cast<int64_t>(sizeof(float))));
  return CudaStatus(
      LaunchRmsNormBackward(problem, plan, static_cast<float*>(partial),
                            NativeOf(stream)),
      absl::StrCat("rms_norm's gradient of ", args.x.ToString()));
}

[[maybe_unused]] const bool kForward =
    RmsNormForwardSlot().Register(DeviceKind::kCuda, &RmsNormForwardCuda);
[[maybe_unused]] const bool kBackward =
    RmsNormBackwardSlot().Register(DeviceKind::kCuda, &RmsNormBackwardCuda);

}  // namespace
}  // namespace octet::models::internal
