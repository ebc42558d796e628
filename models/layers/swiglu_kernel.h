// SPDX-License-Identifier: Apache-2.0

// Kernels of the gated activation: arguments are checked.
#ifndef OCTET_MODELS_LAYERS_SWIGLU_KERNEL_H_
#define OCTET_MODELS_LAYERS_SWIGLU_KERNEL_H_

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::models::internal {

// gate, up, y.
using SwigluForwardKernel = absl::Status(const Stream&, const TensorView&,
                                         const TensorView&, const TensorView&);
// gate, up, dy, dgate, dup.
using SwigluBackwardKernel = absl::Status(const Stream&, const TensorView&,
                                          const TensorView&, const TensorView&,
                                          const TensorView&, const TensorView&);

KernelSlot<SwigluForwardKernel>& SwigluForwardSlot();
KernelSlot<SwigluBackwardKernel>& SwigluBackwardSlot();

SwigluForwardKernel SwigluForwardCpu;
SwigluBackwardKernel SwigluBackwardCpu;

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_SWIGLU_KERNEL_H_
