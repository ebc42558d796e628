// SPDX-License-Identifier: Apache-2.0

// Launchers of the two small kernels that change the state of delayed scaling:
// plain pointers, for the leaf alone. Indices of the state are those of
// float8/delayed_scaling_kernel.h, which includes Abseil and so is not for .cu
// files.
#ifndef OCTET_FLOAT8_CUDA_DELAYED_SCALING_KERNEL_H_
#define OCTET_FLOAT8_CUDA_DELAYED_SCALING_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace octet::float8::internal {

struct DelayedCells {
  float* amax;
  float* scaled;
  float* pending;
  float* used;
  float* filled;
  float* seen;
  float* keep;
  float* redo;
  float* history;
  int64_t length;
};

// Between a cast by `scaled`, which left its amax in `seen`, and the one that
// may redo it.
cudaError_t LaunchDelayedUpdate(const DelayedCells& cells, int margin,
                                cudaStream_t stream);

// Rolls the history if the state was used.
cudaError_t LaunchDelayedAdvance(const DelayedCells& cells, bool most_recent,
                                 int margin, cudaStream_t stream);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_DELAYED_SCALING_KERNEL_H_
