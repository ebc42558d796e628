// SPDX-License-Identifier: Apache-2.0

// The state of delayed scaling on the GPU: as delayed_scaling_cpu.cc.
#include <cuda_runtime.h>

#include "float8/cuda/delayed_scaling_kernel.h"

namespace octet::float8::internal {
namespace {

constexpr int kThreads = 256;

__global__ void DelayedUpdateKernel(DelayedCells s, int margin) {
  const float current = *s.seen;
  const float scaled = ldexpf(current, margin);
  const bool is_finite = isfinite(current);
  const bool keeps = *s.amax > 0.0f && is_finite;
  *s.keep = keeps ? 1.0f : 0.0f;
  *s.redo = keeps ? 0.0f : scaled;
  *s.seen = 0.0f;
  if (!is_finite) return;
  if (!keeps) {
    *s.amax = current;
    *s.scaled = scaled;
  }
  *s.pending = fmaxf(*s.pending, current);
  *s.used = 1.0f;
}

// One block: entries move a block's width at a time, from the end.
__global__ void DelayedAdvanceKernel(DelayedCells s, bool most_recent,
                                     int margin) {
  __shared__ float largest[kThreads];
  if (*s.used == 0.0f) return;
  float mine = 0.0f;
  for (int64_t end = s.length; end > 0; end -= kThreads) {
    const int64_t i = end - 1 - threadIdx.x;
    const float entry = i > 0 ? s.history[i - 1] : *s.pending;
    __syncthreads();
    if (i >= 0) {
      s.history[i] = entry;
      mine = fmaxf(mine, entry);
    }
    __syncthreads();
  }
  largest[threadIdx.x] = mine;
  for (int step = kThreads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) {
      largest[threadIdx.x] =
          fmaxf(largest[threadIdx.x], largest[threadIdx.x + step]);
    }
  }
  if (threadIdx.x != 0) return;
  *s.amax = most_recent ? s.history[0] : largest[0];
  *s.scaled = ldexpf(*s.amax, margin);
  *s.filled = 1.0f;
  *s.pending = 0.0f;
  *s.used = 0.0f;
}

}  // namespace

cudaError_t LaunchDelayedUpdate(const DelayedCells& cells, int margin,
                                cudaStream_t stream) {
  DelayedUpdateKernel<<<1, 1, 0, stream>>>(cells, margin);
  return cudaGetLastError();
}

cudaError_t LaunchDelayedAdvance(const DelayedCells& cells, bool most_recent,
                                 int margin, cudaStream_t stream) {
  DelayedAdvanceKernel<<<1, kThreads, 0, stream>>>(cells, most_recent, margin);
  return cudaGetLastError();
}

}  // namespace octet::float8::internal
