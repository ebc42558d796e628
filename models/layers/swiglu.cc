// SPDX-License-Identifier: Apache-2.0
#include "models/layers/swiglu.h"

#include "base/status_macros.h"
#include "models/layers/checks.h"
#include "models/layers/swiglu_kernel.h"

namespace octet::models {
namespace internal {

KernelSlot<SwigluForwardKernel>& SwigluForwardSlot() {
  static KernelSlot<SwigluForwardKernel> slot("//models/layers:swiglu_cuda",
                                              &SwigluForwardCpu);
  return slot;
}

KernelSlot<SwigluBackwardKernel>& SwigluBackwardSlot() {
  static KernelSlot<SwigluBackwardKernel> slot("//models/layers:swiglu_cuda",
                                               &SwigluBackwardCpu);
  return slot;
}

}  // namespace internal

absl::Status SwigluForward(const Stream& stream,
                           const SwigluForwardArgs& args) {
  const TensorView& gate = args.gate;
  OCTET_RETURN_IF_ERROR(internal::CheckActivation({"swiglu", "gate", gate}));
  for (const internal::Argument& argument :
       {internal::Argument{"swiglu", "gate", gate},
        internal::Argument{"swiglu", "up", args.up},
        internal::Argument{"swiglu", "y", args.y}}) {
    OCTET_RETURN_IF_ERROR(
        internal::CheckTensor(stream, argument, gate.dtype(), gate.shape()));
  }
  OCTET_RETURN_IF_ERROR(
      internal::CheckAmax(stream, {"swiglu", "amax", args.amax}, gate.dtype()));
  OCTET_ASSIGN_OR_RETURN(auto* kernel,
                         internal::SwigluForwardSlot().Get(stream.device()));
  return kernel(stream, args);
}

absl::Status SwigluBackward(const Stream& stream,
                            const SwigluBackwardArgs& args) {
  const TensorView& gate = args.gate;
  OCTET_RETURN_IF_ERROR(internal::CheckActivation({"swiglu", "gate", gate}));
  for (const internal::Argument& argument :
       {internal::Argument{"swiglu", "gate", gate},
        internal::Argument{"swiglu", "up", args.up},
        internal::Argument{"swiglu", "dy", args.dy},
        internal::Argument{"swiglu", "dgate", args.dgate},
        internal::Argument{"swiglu", "dup", args.dup}}) {
    OCTET_RETURN_IF_ERROR(
        internal::CheckTensor(stream, argument, gate.dtype(), gate.shape()));
  }
  for (const internal::Argument& argument :
       {internal::Argument{"swiglu", "dgate_amax", args.dgate_amax},
        internal::Argument{"swiglu", "dup_amax", args.dup_amax}}) {
    OCTET_RETURN_IF_ERROR(internal::CheckAmax(stream, argument, gate.dtype()));
  }
  OCTET_ASSIGN_OR_RETURN(auto* kernel,
                         internal::SwigluBackwardSlot().Get(stream.device()));
  return kernel(stream, args);
}

}  // namespace octet::models
