// SPDX-License-Identifier: Apache-2.0

#include "train/clip.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/parallel.h"
#include "base/shape.h"
#include "base/status_macros.h"

namespace octet::train {
namespace {

constexpr int64_t kPiece = 1 << 14;

// Eight sums, which the compiler keeps in vector registers.
double PieceSum(const float* x, int64_t n) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int j = 0; j < 8; ++j) {
      const double v = x[i + j];
      sums[j] += v * v;
    }
  }
  for (int j = 0; i < n; ++i, ++j) {
    const double v = x[i];
    sums[j] += v * v;
  }
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

absl::StatusOr<double> SumOfSquaresCpu(const Stream&,
                                       absl::Span<const TensorView> tensors) {
  double sum = 0;
  std::vector<double> pieces;
  for (const TensorView& tensor : tensors) {
    const int64_t n = tensor.num_elements();
    const float* x = tensor.as<float>();
    pieces.assign(CeilDiv(n, kPiece), 0.0);
    ParallelFor(n, kPiece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += kPiece) {
        pieces[i / kPiece] = PieceSum(x + i, std::min(kPiece, end - i));
      }
    });
    for (const double piece : pieces) sum += piece;
  }
  return sum;
}

}  // namespace

KernelSlot<SumOfSquaresKernel>& SumOfSquaresSlot() {
  static KernelSlot<SumOfSquaresKernel> slot("//train:clip_cuda",
                                             &SumOfSquaresCpu);
  return slot;
}

absl::StatusOr<double> SumOfSquares(const Stream& stream,
                                    absl::Span<const TensorView> tensors) {
  for (const TensorView& tensor : tensors) {
    if (tensor.dtype() != DType::kF32 || tensor.device() != stream.device()) {
      return absl::InvalidArgumentError(
          absl::StrCat("sum of squares: tensor is ", tensor.ToString(),
                       ", must be f32 on ", stream.device().ToString()));
    }
  }
  OCTET_ASSIGN_OR_RETURN(SumOfSquaresKernel * kernel,
                         SumOfSquaresSlot().Get(stream.device()));
  return kernel(stream, tensors);
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
