// SPDX-License-Identifier: Apache-2.0

// Fills the gated activation's slots for CUDA. Arguments were checked by
// swiglu.cc.
#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "models/layers/cuda/swiglu_kernel.h"
#include "models/layers/layers_cuda.h"
#include "models/layers/swiglu_kernel.h"

namespace octet::models::internal {
namespace {

absl::Status SwigluForwardCuda(const Stream& stream,
                               const SwigluForwardArgs& args) {
  SwigluForwardProblem problem;
  OCTET_ASSIGN_OR_RETURN(problem.type, ElementTypeOf("swiglu", args.gate));
  problem.n = args.gate.num_elements();
  if (problem.n == 0) return ZeroAmax(stream, args.amax);
  problem.gate = args.gate.data();
  problem.up = args.up.data();
  problem.y = args.y.data();
  problem.amax = args.amax.as<float>();
  OCTET_ASSIGN_OR_RETURN(problem.counters,
                         CountersOf(stream, args.amax.present()));
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  return CudaStatus(LaunchSwigluForward(problem, NativeOf(stream)),
                    absl::StrCat("swiglu of ", args.gate.ToString()));
}

absl::Status SwigluBackwardCuda(const Stream& stream,
                                const SwigluBackwardArgs& args) {
  SwigluBackwardProblem problem;
  OCTET_ASSIGN_OR_RETURN(problem.type, ElementTypeOf("swiglu", args.gate));
  problem.n = args.gate.num_elements();
  if (problem.n == 0) {
    OCTET_RETURN_IF_ERROR(ZeroAmax(stream, args.dgate_amax));
    return ZeroAmax(stream, args.dup_amax);
  }
  problem.gate = args.gate.data();
  problem.up = args.up.data();
  problem.dy = args.dy.data();
  problem.dgate = args.dgate.data();
  problem.dup = args.dup.data();
  problem.dgate_amax = args.dgate_amax.as<float>();
  problem.dup_amax = args.dup_amax.as<float>();
  OCTET_ASSIGN_OR_RETURN(
      problem.counters,
      CountersOf(stream, args.dgate_amax.present() || args.dup_amax.present()));
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  return CudaStatus(
      LaunchSwigluBackward(problem, NativeOf(stream)),
      absl::StrCat("swiglu's gradient of ", args.gate.ToString()));
}

[[maybe_unused]] const bool kForward =
    SwigluForwardSlot().Register(DeviceKind::kCuda, &SwigluForwardCuda);
[[maybe_unused]] const bool kBackward =
    SwigluBackwardSlot().Register(DeviceKind::kCuda, &SwigluBackwardCuda);

}  // namespace
}  // namespace octet::models::internal
