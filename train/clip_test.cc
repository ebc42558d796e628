// SPDX-License-Identifier: Apache-2.0

#include "train/clip.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::train {
namespace {

using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

TensorView View(std::vector<float>* values) {
  return TensorView::Of(absl::MakeSpan(*values), DType::kF32);
}

TEST(SumOfSquares, OverTensorsWithTails) {
  std::vector<float> a(40001);
  std::vector<float> b = {3, -4};
  std::vector<float> none;
  double expected = 25;
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = std::sin(0.1f * i);
    expected += static_cast<double>(a[i]) * a[i];
  }
  OCTET_ASSERT_OK_AND_ASSIGN(
      const double sum,
      SumOfSquares(Stream(), {View(&a), View(&b), View(&none)}));
  EXPECT_NEAR(sum, expected, 1e-12 * expected);
}

TEST(SumOfSquares, DoesNotOverflowInFloat) {
  std::vector<float> a(4, 1e30f);
  OCTET_ASSERT_OK_AND_ASSIGN(const double sum,
                             SumOfSquares(Stream(), {View(&a)}));
  EXPECT_NEAR(std::sqrt(sum) / 2e30, 1, 1e-6);
}

TEST(SumOfSquares, ShowsNonFinite) {
  std::vector<float> a(100, 1.0f);
  a[99] = std::numeric_limits<float>::quiet_NaN();
  OCTET_ASSERT_OK_AND_ASSIGN(const double nan,
                             SumOfSquares(Stream(), {View(&a)}));
  EXPECT_TRUE(std::isnan(nan));
  a[99] = -std::numeric_limits<float>::infinity();
  OCTET_ASSERT_OK_AND_ASSIGN(const double inf,
                             SumOfSquares(Stream(), {View(&a)}));
  EXPECT_TRUE(std::isinf(inf));
}

TEST(SumOfSquares, RefusesOtherTypes) {
  std::vector<uint16_t> bits(4);
  EXPECT_THAT(
      SumOfSquares(Stream(),
                   {TensorView::Of(absl::MakeSpan(bits), DType::kBf16)}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bf16 [4]")));
}

TEST(ClipCoefficient, FollowsPyTorch) {
  EXPECT_THAT(*ClipCoefficient(0.5, 1.0), 1.0);
  EXPECT_DOUBLE_EQ(*ClipCoefficient(4.0, 1.0), 1.0 / (4.0 + 1e-6));
  EXPECT_EQ(*ClipCoefficient(0, 1.0), 1.0);
  EXPECT_EQ(*ClipCoefficient(100, 0), 1.0);
}

TEST(ClipCoefficient, RefusesNonFinite) {
  for (const double norm : {std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(ClipCoefficient(norm, 1.0),
                StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("finite")));
  }
  EXPECT_THAT(ClipCoefficient(1, -1),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace octet::train
