// SPDX-License-Identifier: Apache-2.0

// Kernels of the gated activation's fused casts: for arguments that are checked
// and fused, and casts' tensors that are allocated. The CPU has none: it runs
// the pair.
#ifndef OCTET_MODELS_LAYERS_SWIGLU_CAST_KERNEL_H_
#define OCTET_MODELS_LAYERS_SWIGLU_CAST_KERNEL_H_

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "models/layers/swiglu_cast.h"

namespace octet::models::internal {

TileFusion SwigluFusionOf(const SwigluCastArgs& args);
TileFusion SwigluFusionOf(const SwigluBackwardCastArgs& args);

using SwigluCastKernel = absl::Status(const Stream&, const SwigluCastArgs&);
using SwigluBackwardCastKernel = absl::Status(const Stream&,
                                              const SwigluBackwardCastArgs&);

KernelSlot<SwigluCastKernel>& SwigluCastSlot();
KernelSlot<SwigluBackwardCastKernel>& SwigluBackwardCastSlot();

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_SWIGLU_CAST_KERNEL_H_
