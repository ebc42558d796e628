// SPDX-License-Identifier: Apache-2.0

#include "train/clip.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/float16.h"
#include "base/parallel.h"
#include "base/shape.h"
#include "base/status_macros.h"

namespace octet::train {
namespace {

constexpr int64_t kPiece = 1 << 14;

// Eight sums, which the compiler keeps in vector registers.
template <typename T>
double PieceSum(const T* x, int64_t n) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int j = 0; j < 8; ++j) {
      const double v = ToFloat(x[i + j]);
      sums[j] += v * v;
    }
  }
  for (int j = 0; i < n; ++i, ++j) {
    const double v = ToFloat(x[i]);
    sums[j] += v * v;
  }
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

template <typename T>
double TensorSum(const TensorView& tensor) {
  const int64_t n = tensor.num_elements();
  const T* x = tensor.as<T>();
  std::vector<double> pieces(CeilDiv(n, kPiece), 0.0);
  ParallelFor(n, kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kPiece) {
      pieces[i / kPiece] = PieceSum(x + i, std::min(kPiece, end - i));
    }
  });
  double sum = 0;
  for (const double piece : pieces) sum += piece;
  return sum;
}

absl::Status SumOfSquaresCpu(const Stream&,
                             absl::Span<const TensorView> tensors,
                             const TensorView& out) {
  double sum = 0;
  for (const TensorView& tensor : tensors) {
    sum += tensor.dtype() == DType::kBf16 ? TensorSum<Bfloat16>(tensor)
                                          : TensorSum<float>(tensor);
  }
  *out.as<double>() = sum;
  return absl::OkStatus();
}

}  // namespace

KernelSlot<SumOfSquaresKernel>& SumOfSquaresSlot() {
  static KernelSlot<SumOfSquaresKernel> slot("//train:cuda", &SumOfSquaresCpu);
  return slot;
}

absl::Status SumOfSquares(const Stream& stream,
                          absl::Span<const TensorView> tensors,
                          const TensorView& out) {
  for (const TensorView& tensor : tensors) {
    const DType dtype = tensor.dtype();
    if ((dtype != DType::kF32 && dtype != DType::kBf16) ||
        tensor.device() != stream.device()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sum of squares: tensor is ", tensor.ToString(),
          ", must be f32 or bf16 on ", stream.device().ToString()));
    }
  }
  if (out.dtype() != DType::kF64 || out.shape() != Shape({1}) ||
      (out.device() != stream.device() && out.device() != Device{})) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sum of squares: out is ", out.ToString(), ", must be f64 [1] on ",
        stream.device().ToString(), " or on the CPU"));
  }
  OCTET_ASSIGN_OR_RETURN(SumOfSquaresKernel * kernel,
                         SumOfSquaresSlot().Get(stream.device()));
  return kernel(stream, tensors, out);
}

absl::StatusOr<double> SumOfSquares(const Stream& stream,
                                    absl::Span<const TensorView> tensors) {
  double sum = 0;
  OCTET_RETURN_IF_ERROR(
      SumOfSquares(stream, tensors, TensorView(&sum, DType::kF64, Shape({1}))));
  return sum;
}

absl::StatusOr<double> ClipCoefficient(double norm, double max_norm) {
  if (!std::isfinite(norm)) {
    return absl::OutOfRangeError(
        absl::StrCat("gradient norm is ", norm, ", not finite"));
  }
  if (!(norm >= 0 && max_norm >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat("clip: norm is ", norm,
                                                   ", max_norm is ", max_norm,
                                                   ", both must be >= 0"));
  }
  return max_norm == 0 ? 1.0 : std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace octet::train
