// SPDX-License-Identifier: Apache-2.0

// Kernels of attention: arguments are checked.
#ifndef OCTET_MODELS_LAYERS_ATTENTION_KERNEL_H_
#define OCTET_MODELS_LAYERS_ATTENTION_KERNEL_H_

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "models/layers/attention.h"

namespace octet::models::internal {

using AttentionForwardKernel = absl::Status(const Stream&,
                                            const AttentionForwardArgs&);
using AttentionBackwardKernel = absl::Status(const Stream&,
                                             const AttentionBackwardArgs&);

KernelSlot<AttentionForwardKernel>& AttentionForwardSlot();
KernelSlot<AttentionBackwardKernel>& AttentionBackwardSlot();

AttentionForwardKernel AttentionForwardCpu;
AttentionBackwardKernel AttentionBackwardCpu;

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_ATTENTION_KERNEL_H_
