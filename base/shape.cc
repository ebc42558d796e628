// SPDX-License-Identifier: Apache-2.0
#include "base/shape.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace octet {

Shape::Shape(std::initializer_list<int64_t> dims)
    : rank_(static_cast<int>(dims.size())) {
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

absl::StatusOr<Shape> Shape::FromDims(absl::Span<const int64_t> dims) {
  if (dims.size() > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape [", absl::StrJoin(dims, ", "), "] has more than ",
                     static_cast<int>(kMaxRank), " dimensions"));
  }
  Shape shape;
  int64_t product = 1;
  for (int64_t d : dims) {
    if (d < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shape [", absl::StrJoin(dims, ", "), "] has a negative size"));
    }
    OCTET_ASSIGN_OR_RETURN(product, CheckedProduct(product, d));
    shape.dims_[shape.rank_++] = d;
  }
  return shape;
}

absl::Span<const int64_t> Shape::dims() const {
  return absl::MakeConstSpan(dims_.data(), rank_);
}

int64_t Shape::num_elements() const { return rows() * cols(); }

int64_t Shape::rows() const {
  int64_t n = 1;
  for (int i = 0; i + 1 < rank_; ++i) n *= dims_[i];
  return n;
}

std::string Shape::ToString() const {
  return absl::StrCat("[", absl::StrJoin(dims(), ", "), "]");
}

bool Shape::operator==(const Shape& other) const {
  return dims() == other.dims();
}

absl::StatusOr<int64_t> CheckedProduct(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) {
    return absl::InvalidArgumentError(
        absl::StrCat("size ", a, " * ", b, " does not fit in 64 bits"));
  }
  return product;
}

}  // namespace octet
