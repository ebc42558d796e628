// SPDX-License-Identifier: Apache-2.0

// The launcher of the amax kernels: plain pointers, for the leaf alone.
#ifndef OCTET_FLOAT8_CUDA_AMAX_KERNEL_H_
#define OCTET_FLOAT8_CUDA_AMAX_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace octet::float8::internal {

enum class AmaxInput : uint8_t { kF32, kBf16, kF16 };

// A [rows, cols] matrix and the tile that shares an amax (never 0; the whole
// axis is rows or cols). `out` holds ceil(rows / tile_rows) * ceil(cols /
// tile_cols) floats, overwritten.
struct AmaxProblem {
  const void* in;
  AmaxInput input;
  int64_t rows;
  int64_t cols;
  int64_t tile_rows;
  int64_t tile_cols;
  float* out;
  int64_t tiles;
};

cudaError_t LaunchAmax(const AmaxProblem& problem, cudaStream_t stream);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_AMAX_KERNEL_H_
