// SPDX-License-Identifier: Apache-2.0

// Kernel of the loss: arguments are checked, all but the targets' range.
#ifndef OCTET_MODELS_LAYERS_CROSS_ENTROPY_KERNEL_H_
#define OCTET_MODELS_LAYERS_CROSS_ENTROPY_KERNEL_H_

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "models/layers/cross_entropy.h"

namespace octet::models::internal {

using CrossEntropyKernel = absl::Status(const Stream&, const CrossEntropyArgs&);

KernelSlot<CrossEntropyKernel>& CrossEntropySlot();

CrossEntropyKernel CrossEntropyCpu;

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CROSS_ENTROPY_KERNEL_H_
