// SPDX-License-Identifier: Apache-2.0

// The launchers of the normalisation's kernels: plain pointers, for the leaf
// alone.
#ifndef OCTET_MODELS_LAYERS_CUDA_RMS_NORM_KERNEL_H_
#define OCTET_MODELS_LAYERS_CUDA_RMS_NORM_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "float8/cuda/types.h"

namespace octet::models::internal {

using float8::internal::ElementType;

struct RmsNormForwardProblem {
  ElementType type;
  int64_t rows;
  int64_t hidden;
  const void* residual;
  const void* delta;  // null: x is residual, and not written
  const void* weight;
  float epsilon;
  void* x;
  void* y;  // null: not written, where hidden is whole aligned vectors
  float* rstd;
  float* amax;         // of y, null: not taken
  unsigned* counters;  // the stream's; read with amax alone
};

// rows and hidden > 0.
cudaError_t LaunchRmsNormForward(const RmsNormForwardProblem& problem,
                                 cudaStream_t stream);

struct RmsNormBackwardProblem {
  ElementType type;
  int64_t rows;
  int64_t hidden;
  const void* x;
  const void* weight;
  const float* rstd;
  const void* dy;
  void* dx;
  float* dweight;
  float* dx_amax;      // null: not taken
  unsigned* counters;  // as above
};

// Launch numbers: a block sums its rows' parts of dweight.
struct RmsNormBackwardPlan {
  int vectors;  // a thread's share of a row; 0: elements one by one
  int threads;
  int64_t blocks;  // partial sums: [blocks, hidden] f32
};
RmsNormBackwardPlan PlanRmsNormBackward(const RmsNormBackwardProblem& problem);

cudaError_t LaunchRmsNormBackward(const RmsNormBackwardProblem& problem,
                                  const RmsNormBackwardPlan& plan,
                                  float* partial, cudaStream_t stream);

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_RMS_NORM_KERNEL_H_
