// SPDX-License-Identifier: Apache-2.0

// Scaled matrix multiplication.
//
//   out [m, n] = alpha * A [m, k] * B [k, n] + beta * out + bias
//
// where an operand is float8 with scales (its value is q / scale) or plain f32
// or bf16. Products are exact, sums are f32; with scales along k, each block's
// sum is scaled and added in f32. When beta is 0, out is only written. Any m,
// n, k, 0 included (k = 0 gives beta * out + bias), any address. Queued on
// `stream`. CPU is built in; for CUDA link :gemm_cuda.
//
// CUDA is cuBLASLt's, on GPUs of compute capability 9.0 or later, and picks an
// algorithm the first time it meets a problem (gemm_algorithms.h). It
// multiplies
//   float8 by float8: both by tensor or by row, in any mix; 1x128 along k by
//     1x128 or 128x128 (not 128x128 by 128x128), precise only;
//   bf16 and f32 in any mix, and f64 by f64;
// and refuses the rest with Unimplemented before anything is queued. The CPU
// multiplies every mix: those above, one side plain, blocks by anything, scales
// of 32 elements; asked for fast accumulation, it sums as ever. So what it runs
// is no proof that a GPU does.
#ifndef OCTET_FLOAT8_GEMM_H_
#define OCTET_FLOAT8_GEMM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/dtype.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/scaling.h"

namespace octet::float8 {

enum class Transpose : uint8_t { kNo, kYes };

// How partial sums of float8 products are kept. The CPU's are f32, always.
//
// Hopper's tensor cores add float8 products in a register of about 13 bits
// below its largest term (beside 448 * 448, terms of 1 are lost). kPrecise adds
// that register to an f32 sum every 128 products, kFast never does and is up to
// a tenth faster. Measured on an H200 against double, k from 128 to 32768,
// normal operands, with and without outliers, and their magnitudes: the error
// of
//   kPrecise stays below 2^-9 of sum |a b| for each element, and below 7e-4 of
//     the result's norm, whatever k is;
//   kFast grows with k: 5e-4 of the norm at 512, 5e-3 at 32768; where all
//     products have one sign, 6e-3 and 0.37.
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

  // What Quantized holds for a GPU, whose float8 products want both operands
  // with k contiguous: the data transposed, [cols, rows] contiguous, and 1 /
  // scale for either form. Each may be absent and is then made from the others,
  // at the price of a launch; the CPU looks at `transposed` only where there is
  // no data.
  TensorView transposed;
  TensorView reciprocal;
  TensorView transposed_reciprocal;

  // Of the matrix, from data or else from transposed.
  int64_t rows() const;
  int64_t cols() const;
  DType dtype() const;
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

// `out` is [m, n], f32, bf16 or f16 (f64 when both operands are f64: for
// gradient checks). InvalidArgument names the dimension that does not fit, a
// float8 operand without scales, scales or a bias whose shape is wrong, a view
// without memory, or e5m2 times e5m2, which no device multiplies. Unimplemented
// for a mix that this device lacks.
absl::Status Gemm(const Stream& stream, const GemmOperand& a,
                  const GemmOperand& b, const GemmOptions& options,
                  const TensorView& out);

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_GEMM_H_
