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

absl::Status SwigluForward(const Stream& stream, const TensorView& gate,
                           const TensorView& up, const TensorView& y) {
  OCTET_RETURN_IF_ERROR(internal::CheckActivation({"swiglu", "gate", gate}));
  for (const internal::Argument& argument :
       {internal::Argument{"swiglu", "gate", gate},
        internal::Argument{"swiglu", "up", up},
        internal::Argument{"swiglu", "y", y}}) {
    OCTET_RETURN_IF_ERROR(
        internal::CheckTensor(stream, argument, gate.dtype(), gate.shape()));
  }
  OCTET_ASSIGN_OR_RETURN(auto* kernel,
                         internal::SwigluForwardSlot().Get(stream.device()));
  return kernel(stream, gate, up, y);
}

absl::Status SwigluBackward(const Stream& stream, const TensorView& gate,
                            const TensorView& up, const TensorView& dy,
                            const TensorView& dgate, const TensorView& dup) {
  OCTET_RETURN_IF_ERROR(internal::CheckActivation({"swiglu", "gate", gate}));
  for (const internal::Argument& argument :
       {internal::Argument{"swiglu", "gate", gate},
        internal::Argument{"swiglu", "up", up},
        internal::Argument{"swiglu", "dy", dy},
        internal::Argument{"swiglu", "dgate", dgate},
        internal::Argument{"swiglu", "dup", dup}}) {
    OCTET_RETURN_IF_ERROR(
        internal::CheckTensor(stream, argument, gate.dtype(), gate.shape()));
  }
  OCTET_ASSIGN_OR_RETURN(auto* kernel,
                         internal::SwigluBackwardSlot().Get(stream.device()));
  return kernel(stream, gate, up, dy, dgate, dup);
}

}  // namespace octet::models
