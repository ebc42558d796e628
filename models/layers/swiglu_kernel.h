// SPDX-License-Identifier: Apache-2.0

// Kernels of the gated activation: arguments are checked.
#ifndef OCTET_MODELS_LAYERS_SWIGLU_KERNEL_H_
#define OCTET_MODELS_LAYERS_SWIGLU_KERNEL_H_

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "models/layers/swiglu.h"

namespace octet::models::internal {

using SwigluForwardKernel = absl::Status(const Stream&,
                                         const SwigluForwardArgs&);
using SwigluBackwardKernel = absl::Status(const Stream&,
                                          const SwigluBackwardArgs&);

KernelSlot<SwigluForwardKernel>& SwigluForwardSlot();
KernelSlot<SwigluBackwardKernel>& SwigluBackwardSlot();

SwigluForwardKernel SwigluForwardCpu;
SwigluBackwardKernel SwigluBackwardCpu;

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_SWIGLU_KERNEL_H_
