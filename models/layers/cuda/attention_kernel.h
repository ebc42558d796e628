// SPDX-License-Identifier: Apache-2.0

// The launchers of the plain attention: any length, heads up to 256 wide, f32
// arithmetic on the CUDA cores. It is there for what cuDNN does not take, and
// to test cuDNN against.
#ifndef OCTET_MODELS_LAYERS_CUDA_ATTENTION_KERNEL_H_
#define OCTET_MODELS_LAYERS_CUDA_ATTENTION_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "float8/cuda/types.h"

namespace octet::models::internal {

using float8::internal::ElementType;

inline constexpr int64_t kMaxPlainHeadDim = 256;

// f32 or bf16. q, o and their gradients [batch, length, heads, head_dim]; k, v
// and theirs with kv_heads; log_sum_exp [batch, heads, length].
struct AttentionProblem {
  ElementType type;
  int64_t batch;
  int64_t length;
  int64_t heads;
  int64_t kv_heads;
  int64_t head_dim;
  const void* q;
  const void* k;
  const void* v;
  void* o;
  float* log_sum_exp;

  // Backward alone, which reads o and log_sum_exp.
  const void* grad_o;
  void* dq;
  void* dk;
  void* dv;
  float* delta;  // scratch, as large as log_sum_exp
};

// All sizes > 0, head_dim <= kMaxPlainHeadDim.
cudaError_t LaunchAttentionForward(const AttentionProblem& problem,
                                   cudaStream_t stream);
cudaError_t LaunchAttentionBackward(const AttentionProblem& problem,
                                    cudaStream_t stream);

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_ATTENTION_KERNEL_H_
