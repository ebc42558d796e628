// SPDX-License-Identifier: Apache-2.0

// The launchers of the gated activation's kernels: plain pointers, for the leaf
// alone.
#ifndef OCTET_MODELS_LAYERS_CUDA_SWIGLU_KERNEL_H_
#define OCTET_MODELS_LAYERS_CUDA_SWIGLU_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "float8/cuda/types.h"

namespace octet::models::internal {

using float8::internal::ElementType;

// n > 0 elements; an amax that is null is not taken, and `counters`, the
// stream's, are read for an amax alone.
struct SwigluForwardProblem {
  ElementType type;
  int64_t n;
  const void* gate;
  const void* up;
  void* y;
  float* amax;
  unsigned* counters;
};
cudaError_t LaunchSwigluForward(const SwigluForwardProblem& problem,
                                cudaStream_t stream);

// Outputs may be the memory of inputs.
struct SwigluBackwardProblem {
  ElementType type;
  int64_t n;
  const void* gate;
  const void* up;
  const void* dy;
  void* dgate;
  void* dup;
  float* dgate_amax;
  float* dup_amax;
  unsigned* counters;
};
cudaError_t LaunchSwigluBackward(const SwigluBackwardProblem& problem,
                                 cudaStream_t stream);

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_SWIGLU_KERNEL_H_
