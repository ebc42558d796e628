// SPDX-License-Identifier: Apache-2.0

// Kernel of the rotation: arguments are checked.
#ifndef OCTET_MODELS_LAYERS_ROPE_KERNEL_H_
#define OCTET_MODELS_LAYERS_ROPE_KERNEL_H_

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "models/layers/rope.h"

namespace octet::models::internal {

using RopeKernel = absl::Status(const Stream&, const TensorView& table,
                                RopeDirection, const TensorView& x,
                                const TensorView& amax);

KernelSlot<RopeKernel>& RopeSlot();

RopeKernel RopeCpu;

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_ROPE_KERNEL_H_
