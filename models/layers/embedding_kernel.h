// SPDX-License-Identifier: Apache-2.0

// Kernels of the embedding: arguments are checked, all but the tokens' range.
#ifndef OCTET_MODELS_LAYERS_EMBEDDING_KERNEL_H_
#define OCTET_MODELS_LAYERS_EMBEDDING_KERNEL_H_

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::models::internal {

// tokens, table, x; and tokens, dx, dtable.
using EmbeddingKernel = absl::Status(const Stream&, const TensorView&,
                                     const TensorView&, const TensorView&);

KernelSlot<EmbeddingKernel>& EmbeddingForwardSlot();
KernelSlot<EmbeddingKernel>& EmbeddingBackwardSlot();

EmbeddingKernel EmbeddingForwardCpu;
EmbeddingKernel EmbeddingBackwardCpu;

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_EMBEDDING_KERNEL_H_
