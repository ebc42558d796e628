// SPDX-License-Identifier: Apache-2.0
#include "testing/tensor_matchers.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "testing/numbers.h"

namespace octet::testing {
namespace {

bool IsFloat(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 ||
         dtype == DType::kBf16 || dtype == DType::kF16 || IsFloat8(dtype);
}

}  // namespace

double RelativeError(const TensorView& actual, const TensorView& expected) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (actual.shape() != expected.shape()) return kNan;
  const auto a = ToDoubles(actual);
  const auto b = ToDoubles(expected);
  if (!a.ok() || !b.ok()) return kNan;
  double difference = 0.0;
  double norm = 0.0;
  for (size_t i = 0; i < a->size(); ++i) {
    const double x = (*a)[i];
    const double y = (*b)[i];
    if (!std::isfinite(x) || !std::isfinite(y)) return kNan;
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  if (difference == 0.0) return 0.0;
  return std::sqrt(difference / norm);
}

std::string BitwiseDifference(const TensorView& actual,
                              const TensorView& expected) {
  if (actual.dtype() != expected.dtype() ||
      actual.shape() != expected.shape()) {
    return absl::StrCat("is ", actual.ToString(), ", expected ",
                        expected.ToString());
  }
  const auto a = ToHost(actual);
  const auto b = ToHost(expected);
  if (!a.ok()) return std::string(a.status().message());
  if (!b.ok()) return std::string(b.status().message());
  const int64_t size = SizeOf(actual.dtype());
  std::vector<double> x;
  std::vector<double> y;
  if (IsFloat(actual.dtype())) {
    x = ToDoubles(*a).value();
    y = ToDoubles(*b).value();
  }
  int64_t count = 0;
  std::string first;
  for (int64_t i = 0; i < actual.num_elements(); ++i) {
    const char* p = a->as<char>() + i * size;
    const char* q = b->as<char>() + i * size;
    if (std::memcmp(p, q, size) == 0) continue;
    if (!x.empty() && std::isnan(x[i]) && std::isnan(y[i])) continue;
    if (count++ > 0) continue;
    first = absl::StrCat("element ", i, " is 0x");
    const auto append_bits = [&](const char* data) {
      for (int64_t k = size; k-- > 0;) {
        absl::StrAppend(
            &first, absl::Hex(static_cast<uint8_t>(data[k]), absl::kZeroPad2));
      }
    };
    append_bits(p);
    if (!x.empty()) absl::StrAppend(&first, " (", x[i], ")");
    first += ", expected 0x";
    append_bits(q);
    if (!x.empty()) absl::StrAppend(&first, " (", y[i], ")");
  }
  if (count == 0) return "";
  return absl::StrCat(first, "; ", count, " of ", actual.num_elements(),
                      " elements differ");
}

bool IsNearMatcher::MatchAndExplain(const TensorView& actual,
                                    std::ostream* os) const {
  const double error = RelativeError(actual, expected_);
  if (os != nullptr) {
    *os << actual.ToString() << " has a relative error of " << error
        << " against " << expected_.ToString();
  }
  return error <= tolerance_;
}

void IsNearMatcher::DescribeTo(std::ostream* os) const {
  *os << "has a relative error of at most " << tolerance_;
}

void IsNearMatcher::DescribeNegationTo(std::ostream* os) const {
  *os << "has a relative error above " << tolerance_;
}

bool BitwiseEqMatcher::MatchAndExplain(const TensorView& actual,
                                       std::ostream* os) const {
  const std::string difference = BitwiseDifference(actual, expected_);
  if (os != nullptr) *os << difference;
  return difference.empty();
}

void BitwiseEqMatcher::DescribeTo(std::ostream* os) const {
  *os << "has the bits of " << expected_.ToString();
}

void BitwiseEqMatcher::DescribeNegationTo(std::ostream* os) const {
  *os << "has other bits than " << expected_.ToString();
}

}  // namespace octet::testing
