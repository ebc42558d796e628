// SPDX-License-Identifier: Apache-2.0

// The launcher of the sum of squares: plain pointers, for the leaf alone.
#ifndef OCTET_TRAIN_CUDA_SUM_OF_SQUARES_KERNEL_H_
#define OCTET_TRAIN_CUDA_SUM_OF_SQUARES_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "float8/cuda/types.h"

namespace octet::train::internal {

struct SumOfSquaresTensor {
  const void* data;
  int64_t n;
  float8::internal::ElementType type;  // f32 or bf16
};

// Partial sums of a tensor of n elements.
int64_t SumOfSquaresPieces(int64_t n);

// `partial` has room for the pieces of all tensors. *out is on the device.
cudaError_t LaunchSumOfSquares(const SumOfSquaresTensor* tensors, int64_t count,
                               double* partial, double* out,
                               cudaStream_t stream);

}  // namespace octet::train::internal

#endif  // OCTET_TRAIN_CUDA_SUM_OF_SQUARES_KERNEL_H_
