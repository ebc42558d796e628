// SPDX-License-Identifier: Apache-2.0

// Scaled matrix multiplication.
//
//   out [m, n] = alpha * A [m, k] * B [k, n] + beta * out + bias
//
// where an operand is float8 with scales (its value is q / scale) or plain f32
// or bf16. Products are exact, sums are f32; with scales along k, each block's
// sum is scaled and added in f32. When beta is 0, out is only written. Any m,
// n, k, 0 included (k = 0 gives beta * out + bias). Queued on `stream`. CPU is
// built in; for CUDA link :gemm_cuda.
#ifndef OCTET_FLOAT8_GEMM_H_
#define OCTET_FLOAT8_GEMM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/scaling.h"

namespace octet::float8 {

enum class Transpose : uint8_t { kNo, kYes };

// How partial sums are kept on hardware that offers a choice. The CPU is
// precise.
enum class Accumulation : uint8_t { kPrecise, kFast };

// One operand as it lies in memory: a [rows, cols] matrix whose rows are
// `leading_dim` elements apart (>= cols), used as itself or transposed.
struct GemmOperand {
  TensorView data;
  // f32, ScaleShape(granularity, rows, cols); absent for f32 and bf16 operands.
  TensorView scale;
  Granularity granularity = Granularity::kTensor;
  Transpose transpose = Transpose::kNo;
  int64_t leading_dim = 0;  // 0 stands for cols
};

// The whole of a quantised or plain matrix.
GemmOperand OperandOf(const Quantized& q, Transpose transpose = Transpose::kNo);
GemmOperand OperandOf(const TensorView& matrix,
                      Transpose transpose = Transpose::kNo);

struct GemmOptions {
  float alpha = 1.0f;
  float beta = 0.0f;
  Accumulation accumulation = Accumulation::kPrecise;
  TensorView bias;  // [n], f32 or bf16 or f16; absent for none
};

// `out` is [m, n], f32 or bf16 (f64 when both operands are f64: for gradient
// checks). InvalidArgument names the dimension that does not fit, a float8
// operand without scales, scales whose shape is wrong, or e5m2 times e5m2,
// which no device multiplies. Unimplemented for a granularity that this device
// lacks.
absl::Status Gemm(const Stream& stream, const GemmOperand& a,
                  const GemmOperand& b, const GemmOptions& options,
                  const TensorView& out);

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_GEMM_H_
