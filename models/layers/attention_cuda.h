// SPDX-License-Identifier: Apache-2.0

// Attention on CUDA: which kernel takes a problem.
#ifndef OCTET_MODELS_LAYERS_ATTENTION_CUDA_H_
#define OCTET_MODELS_LAYERS_ATTENTION_CUDA_H_

#include "models/layers/attention_kernel.h"

namespace octet::models::internal {

// The project's own kernels, for f32 and bf16 and heads up to 256 wide. Slow,
// as they do without tensor cores. Backward is deterministic and has one f32 a
// row of scratch. InvalidArgument for wider heads.
AttentionForwardKernel AttentionForwardPlain;
AttentionBackwardKernel AttentionBackwardPlain;

// Faster kernels, asked first. Unimplemented: not for this problem, nothing was
// queued, and the plain kernel takes it. What one of them saves in forward the
// other's backward can read.
struct FusedAttention {
  AttentionForwardKernel* forward = nullptr;
  AttentionBackwardKernel* backward = nullptr;
};

// For a leaf's static initialiser; the last one counts.
bool RegisterFusedAttention(const FusedAttention& fused);

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_ATTENTION_CUDA_H_
