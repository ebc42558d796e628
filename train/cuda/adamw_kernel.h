// SPDX-License-Identifier: Apache-2.0

// The launcher of AdamW's kernels: plain pointers, for the leaf alone.
#ifndef OCTET_TRAIN_CUDA_ADAMW_KERNEL_H_
#define OCTET_TRAIN_CUDA_ADAMW_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "float8/cuda/types.h"

namespace octet::train::internal {

using float8::internal::ElementType;

// f32 or bf16 each.
struct AdamWTypes {
  ElementType master;
  ElementType gradient;
  ElementType moments;
};
inline bool operator==(const AdamWTypes& a, const AdamWTypes& b) {
  return a.master == b.master && a.gradient == b.gradient &&
         a.moments == b.moments;
}

struct AdamWTensor {
  void* master;
  const void* gradient;
  void* m;
  void* v;
  void* weight;  // bf16, of an f32 master; null: not written
  float* amax;   // null: not taken
  int64_t n;
  int64_t first_element;     // of the whole parameter, as its rounding counts
  uint64_t rounding_stream;  // of base/philox.h, for this step
};

// As AdamWScalars.
struct AdamWNumbers {
  float gradient_scale;
  float decay;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float step_size;
  float sqrt_bias2;
  float eps;
  uint64_t seed;
};

// The types are those of all `count` tensors.
cudaError_t LaunchAdamW(const AdamWNumbers& numbers, const AdamWTypes& types,
                        const AdamWTensor* tensors, int64_t count,
                        cudaStream_t stream);

}  // namespace octet::train::internal

#endif  // OCTET_TRAIN_CUDA_ADAMW_KERNEL_H_
