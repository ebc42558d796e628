// SPDX-License-Identifier: Apache-2.0

// Plain matrix products on the CPU, by oneDNN.
//
// Measured against OpenBLAS and Eigen on two cores of a Sapphire Rapids Xeon
// at m 2048, n 768, k 256: oneDNN f32 235 GFLOP/s, its bf16 product (AMX) 575;
// OpenBLAS 50; Eigen 43 as built for plain x86-64, 210 for this CPU alone.
#ifndef OCTET_FLOAT8_GEMM_CPU_PRODUCT_KERNEL_H_
#define OCTET_FLOAT8_GEMM_CPU_PRODUCT_KERNEL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/dtype.h"

namespace octet::float8::internal {

// A matrix of f32 or bf16; one of the strides is 1, in elements.
struct PlainMatrix {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t row_stride = 0;
  int64_t col_stride = 0;

  PlainMatrix Offset(int64_t row, int64_t col) const;
};

enum class WriteMode : uint8_t { kOverwrite, kAdd };

// c [m, n], rows `ldc` apart, = or += a [m, k] b [k, n], both of one dtype. c
// is f32, or bf16 if a and b are and it is overwritten. Sums are f32. The
// product of two bf16 values is exact unless it, or an operand, is below
// 2^-126, where AMX takes 0. None of the sizes is 0. Bitwise repeatable for the
// same number of threads.
absl::Status Product(int64_t m, int64_t n, int64_t k, const PlainMatrix& a,
                     const PlainMatrix& b, WriteMode mode, DType c_dtype,
                     void* c, int64_t ldc);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_GEMM_CPU_PRODUCT_KERNEL_H_
