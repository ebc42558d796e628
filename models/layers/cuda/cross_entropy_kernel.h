// SPDX-License-Identifier: Apache-2.0

// The launcher of the loss's kernels: plain pointers, for the leaf alone.
#ifndef OCTET_MODELS_LAYERS_CUDA_CROSS_ENTROPY_KERNEL_H_
#define OCTET_MODELS_LAYERS_CUDA_CROSS_ENTROPY_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "float8/cuda/types.h"

namespace octet::models::internal {

using float8::internal::ElementType;

// A target that is neither in the vocabulary nor ignore_index: the row's loss
// and gradient are NaN.
struct CrossEntropyProblem {
  int64_t rows;
  int64_t vocab;
  const float* logits;
  const int32_t* targets;
  int32_t ignore_index;
  float grad_scale;
  double* losses;
  ElementType gradient;
  void* dlogits;  // null: none; may be logits
};

// Launch numbers. A row stays in the registers of a cluster of blocks, so that
// it is read once; where it is too long or no whole aligned vectors, one block
// reads it twice.
struct CrossEntropyPlan {
  int blocks = 0;  // of a row; 0: one, which reads it twice
  int threads = 512;
};
CrossEntropyPlan PlanCrossEntropy(const CrossEntropyProblem& problem);

// rows and vocab > 0.
cudaError_t LaunchCrossEntropy(const CrossEntropyProblem& problem,
                               const CrossEntropyPlan& plan,
                               cudaStream_t stream);

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_CROSS_ENTROPY_KERNEL_H_
