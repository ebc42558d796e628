// SPDX-License-Identifier: Apache-2.0

// The dimensions of a tensor: up to five 64-bit sizes, row-major.
#ifndef OCTET_BASE_SHAPE_H_
#define OCTET_BASE_SHAPE_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace octet {

class Shape {
 public:
  static constexpr int kMaxRank = 5;

  // Rank 0: a scalar, one element.
  Shape() = default;
  // At most kMaxRank sizes, each >= 0; FromDims checks sizes that come from
  // outside.
  Shape(std::initializer_list<int64_t> dims);

  // InvalidArgument for a negative size, too many of them, or a product past
  // 2^63 - 1.
  static absl::StatusOr<Shape> FromDims(absl::Span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t dim(int i) const { return dims_[i < 0 ? i + rank_ : i]; }
  absl::Span<const int64_t> dims() const;
  int64_t num_elements() const;

  // As a matrix: the last dimension is the columns, all others the rows.
  int64_t cols() const { return rank_ == 0 ? 1 : dims_[rank_ - 1]; }
  int64_t rows() const;

  // "[128, 96]"
  std::string ToString() const;

  bool operator==(const Shape& other) const;
  bool operator!=(const Shape& other) const { return !(*this == other); }

 private:
  std::array<int64_t, kMaxRank> dims_ = {};
  int rank_ = 0;
};

// a * b, or InvalidArgument past 2^63 - 1. Both must be >= 0.
absl::StatusOr<int64_t> CheckedProduct(int64_t a, int64_t b);

// ceil(a / b) for a >= 0, b > 0.
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

}  // namespace octet

#endif  // OCTET_BASE_SHAPE_H_
