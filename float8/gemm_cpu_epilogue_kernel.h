// SPDX-License-Identifier: Apache-2.0

// What happens to the sums of a matrix product on the CPU.
//
// Every loop rounds after each operation (no fused multiply-add), so results
// are the same on every instruction set.
#ifndef OCTET_FLOAT8_GEMM_CPU_EPILOGUE_KERNEL_H_
#define OCTET_FLOAT8_GEMM_CPU_EPILOGUE_KERNEL_H_

#include <cstdint>

#include "base/tensor.h"
#include "float8/gemm_cpu_product_kernel.h"

namespace octet::float8::internal {

// total [m, n] = or += part [m, n] * (row[i] * col[j]); rows are contiguous.
void AddScaled(int64_t m, int64_t n, const float* part, const float* row,
               const float* col, WriteMode mode, float* total);

// out = alpha * (sums * (row[i] * col[j])) + beta * out + bias[j]
struct Epilogue {
  const float* row = nullptr;  // m factors
  const float* col = nullptr;  // n factors
  float alpha = 1.0f;
  float beta = 0.0f;            // 0: out is only written
  const float* bias = nullptr;  // n values, null for none
};

// `out` is [m, n], f32, bf16 or f16; f32 sums may be out's own memory if beta
// is 0.
void Finish(int64_t m, int64_t n, const float* sums, const Epilogue& epilogue,
            const TensorView& out);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_GEMM_CPU_EPILOGUE_KERNEL_H_
