// SPDX-License-Identifier: Apache-2.0

// What a matrix product on the GPU needs around cuBLASLt when operands or
// result do not lie as it wants them. Each is queued on the stream; none
// allocates.
#ifndef OCTET_FLOAT8_CUDA_GEMM_KERNEL_H_
#define OCTET_FLOAT8_CUDA_GEMM_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace octet::float8::internal {

// Bytes of an [outer, k] matrix, or of its transpose, to one with k contiguous
// whose padding is zero.
struct GemmBytes {
  const void* from = nullptr;
  int64_t from_ld = 0;         // between rows
  bool is_transposed = false;  // from is [k, outer]
  int64_t outer = 0;
  int64_t k = 0;
  void* to = nullptr;  // [to_outer, to_k], 16-byte aligned
  int64_t to_outer = 0;
  int64_t to_k = 0;  // a multiple of 16
};
cudaError_t LaunchGemmBytes(const GemmBytes& bytes, cudaStream_t stream);

// to[i, j] = 1 / scale[i * row_stride + j * col_stride] for i < rows and
// j < cols, else 0.
struct GemmReciprocals {
  const float* scale = nullptr;
  int64_t row_stride = 0;
  int64_t col_stride = 0;
  int64_t rows = 0;
  int64_t cols = 0;
  float* to = nullptr;  // [rows, to_cols]
  int64_t to_cols = 0;
};
cudaError_t LaunchGemmReciprocals(const GemmReciprocals& reciprocals,
                                  cudaStream_t stream);

// bf16 [rows, cols], rows `ld` apart, to f32 without gaps.
cudaError_t LaunchGemmWiden(const void* from, int64_t ld, int64_t rows,
                            int64_t cols, float* to, cudaStream_t stream);

enum class GemmElement : uint8_t { kF32, kBf16, kF16, kF64 };

// out = sums + beta * out + bias, rounding after each operation.
struct GemmFinish {
  const void* sums = nullptr;  // f64 if out is, else f32; null: 0
  int64_t sums_ld = 0;         // may be out itself if that is f32 or f64
  int64_t m = 0;
  int64_t n = 0;
  double beta = 0.0;  // 0: out is only written
  void* out = nullptr;
  GemmElement out_type = GemmElement::kF32;
  const void* bias = nullptr;  // [n]
  GemmElement bias_type = GemmElement::kF32;
};
cudaError_t LaunchGemmFinish(const GemmFinish& finish, cudaStream_t stream);

// Adds a digest of `bytes` bytes (256-byte aligned) to *digest, in no order, so
// that two results can be compared without keeping both.
cudaError_t LaunchGemmDigest(const void* data, int64_t bytes,
                             unsigned long long* digest, cudaStream_t stream);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_GEMM_KERNEL_H_
