// SPDX-License-Identifier: Apache-2.0

// The launcher of the rotation's kernels: plain pointers, for the leaf alone.
#ifndef OCTET_MODELS_LAYERS_CUDA_ROPE_KERNEL_H_
#define OCTET_MODELS_LAYERS_CUDA_ROPE_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "float8/cuda/types.h"

namespace octet::models::internal {

using float8::internal::ElementType;

struct RopeProblem {
  ElementType type;
  int64_t rows;    // of all sequences
  int64_t length;  // of one of them
  int64_t heads;
  int64_t half;        // of head_dim
  float sign;          // 1 forward, -1 backward
  const float* table;  // [length, 2, half]
  void* x;             // [rows, heads, 2 half]
  float* amax;         // of x as written, null: not taken
  unsigned* counters;  // the stream's; read with amax alone
};

// All sizes > 0.
cudaError_t LaunchRope(const RopeProblem& problem, cudaStream_t stream);

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_ROPE_KERNEL_H_
