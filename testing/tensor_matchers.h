// SPDX-License-Identifier: Apache-2.0

// Compares tensors, of any device, whose work has finished:
//
//   EXPECT_LT(RelativeError(y, expected), 1e-3);
//   EXPECT_THAT(y, IsNear(expected, 1e-3));
//   EXPECT_THAT(y, BitwiseEq(expected));
#ifndef OCTET_TESTING_TENSOR_MATCHERS_H_
#define OCTET_TESTING_TENSOR_MATCHERS_H_

#include <ostream>
#include <string>

#include "base/tensor.h"

namespace octet::testing {

// |actual - expected| / |expected| in Frobenius norms, in double; dtypes may
// differ. 0 for two zero or empty tensors. NaN, which no comparison passes, for
// different shapes or a NaN or infinity on either side.
double RelativeError(const TensorView& actual, const TensorView& expected);

// Empty if dtype, shape and all bits agree, where one NaN is as good as
// another; else the first difference and how many there are.
std::string BitwiseDifference(const TensorView& actual,
                              const TensorView& expected);

// The tensor compared with is referred to; it must outlive the matcher.
class IsNearMatcher {
 public:
  using is_gtest_matcher = void;
  IsNearMatcher(const TensorView& expected, double tolerance)
      : expected_(expected), tolerance_(tolerance) {}
  bool MatchAndExplain(const TensorView& actual, std::ostream* os) const;
  void DescribeTo(std::ostream* os) const;
  void DescribeNegationTo(std::ostream* os) const;

 private:
  TensorView expected_;
  double tolerance_;
};

class BitwiseEqMatcher {
 public:
  using is_gtest_matcher = void;
  explicit BitwiseEqMatcher(const TensorView& expected) : expected_(expected) {}
  bool MatchAndExplain(const TensorView& actual, std::ostream* os) const;
  void DescribeTo(std::ostream* os) const;
  void DescribeNegationTo(std::ostream* os) const;

 private:
  TensorView expected_;
};

inline IsNearMatcher IsNear(const TensorView& expected, double tolerance) {
  return IsNearMatcher(expected, tolerance);
}
inline BitwiseEqMatcher BitwiseEq(const TensorView& expected) {
  return BitwiseEqMatcher(expected);
}

}  // namespace octet::testing

#endif  // OCTET_TESTING_TENSOR_MATCHERS_H_
