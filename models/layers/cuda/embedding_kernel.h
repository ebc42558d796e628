// SPDX-License-Identifier: Apache-2.0

// The launchers of the embedding's kernels: plain pointers, for the leaf alone.
#ifndef OCTET_MODELS_LAYERS_CUDA_EMBEDDING_KERNEL_H_
#define OCTET_MODELS_LAYERS_CUDA_EMBEDDING_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "float8/cuda/types.h"

namespace octet::models::internal {

using float8::internal::ElementType;

// An id outside the vocabulary: its row of x is NaN.
struct EmbeddingForwardProblem {
  ElementType type;
  int64_t tokens;
  int64_t vocab;
  int64_t hidden;
  const int32_t* ids;
  const void* table;
  void* x;
};

// tokens and hidden > 0.
cudaError_t LaunchEmbeddingForward(const EmbeddingForwardProblem& problem,
                                   cudaStream_t stream);

// An id outside the vocabulary adds to nothing.
struct EmbeddingBackwardProblem {
  ElementType dx_type;
  ElementType dtable_type;
  int64_t tokens;  // below 2^32 - 1
  int64_t vocab;
  int64_t hidden;
  const int32_t* ids;
  const void* dx;
  void* dtable;
  // [2, vocab], for the launch alone: where an id is first, and how many tokens
  // come after its last one.
  uint32_t* places;
};

cudaError_t LaunchEmbeddingBackward(const EmbeddingBackwardProblem& problem,
                                    cudaStream_t stream);

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_EMBEDDING_KERNEL_H_
