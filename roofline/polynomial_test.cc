// SPDX-License-Identifier: Apache-2.0

#include "roofline/polynomial.h"

#include <cstdint>
#include <limits>
#include <locale>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::roofline {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

TEST(Polynomial, PrintsAsAPersonWrites) {
  EXPECT_EQ((2 * kM * kK + 4 * kM * kN).ToString(), "2*M*K + 4*M*N");
  EXPECT_EQ((4 * kN * kM + 2 * kK * kM).ToString(), "2*M*K + 4*M*N");
  EXPECT_EQ((3 + kN + kM * kM - 1.5 * kK).ToString(), "M^2 - 1.5*K + N + 3");
  EXPECT_EQ((-1 * kK * kN).ToString(), "-K*N");
  EXPECT_EQ(Polynomial().ToString(), "0");
  EXPECT_EQ(Polynomial(-1).ToString(), "-1");
  EXPECT_EQ((2 * kM * kK * kN + kK).ToString(), "2*M*K*N + K");
  EXPECT_EQ((97.0 / 32 * kM).ToString(), "3.03125*M");
  EXPECT_EQ((4 / (2.4e12 * 0.92) * kM * kK + 6e-6).ToString(8),
            "1.8115942e-12*M*K + 6e-06");
}

TEST(Polynomial, IsARing) {
  const Polynomial a = 2 * kM + 3 * kK;
  const Polynomial b = kN - kM + 1;
  EXPECT_EQ(a * b, b * a);
  EXPECT_EQ(a * (b + kK), a * b + a * kK);
  EXPECT_EQ(a - a, Polynomial());
  EXPECT_TRUE((a - a).IsZero());
  EXPECT_EQ((a + b).ToString(), "M + 3*K + N + 1");
  EXPECT_EQ((a * b).ToString(), "-2*M^2 - 3*M*K + 2*M*N + 3*K*N + 2*M + 3*K");
  EXPECT_EQ((a * 4 / 4), a);
  EXPECT_NE(a, b);
  Polynomial twice = a;
  twice += twice;
  EXPECT_EQ(twice, 2 * a);
  twice *= twice;
  EXPECT_EQ(twice, 4 * a * a);
  EXPECT_EQ((0 * a).ToString(), "0");
}

TEST(Polynomial, EvaluatesLargeSizes) {
  const Polynomial flops = 6 * kM * kK * kN;
  EXPECT_EQ(flops.Evaluate(65536, 65536, 65536), 6 * 281474976710656.0);
  const int64_t largest = int64_t{1} << 62;
  EXPECT_EQ(flops.Evaluate(largest, largest, largest),
            6 * 0x1p62 * 0x1p62 * 0x1p62);
  const Polynomial p = kM * kM - 2 * kK + 0.5 * kN + 7;
  EXPECT_EQ(p.Evaluate(Sizes{3, 5, 9}), 9 - 10 + 4.5 + 7);
  EXPECT_EQ(Polynomial().Evaluate(1, 2, 3), 0);
}

TEST(Polynomial, Differentiates) {
  const Polynomial p = 5 * kM * kM * kK + 4 * kM * kN - kN + 2;
  EXPECT_EQ(p.Derivative(Variable::kM), 10 * kM * kK + 4 * kN);
  EXPECT_EQ(p.Derivative(Variable::kK), 5 * kM * kM);
  EXPECT_EQ(p.Derivative(Variable::kN), 4 * kM - 1);
  EXPECT_TRUE(Polynomial(3).Derivative(Variable::kM).IsZero());
}

TEST(Polynomial, KnowsItsCoefficients) {
  const Polynomial p = 2 * kM * kK + 7;
  EXPECT_EQ(p.Coefficient(1, 1, 0), 2);
  EXPECT_EQ(p.Coefficient(0, 0, 0), 7);
  EXPECT_EQ(p.Coefficient(0, 1, 1), 0);
}

TEST(Polynomial, SumsOfFractionsAreExact) {
  Polynomial sum;
  for (int i = 0; i < 128; ++i) sum += kM * kK / 128;
  EXPECT_EQ(sum, kM * kK);
}

struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Polynomial, PrintsPointsWhereNumbersHaveCommas) {
  const std::locale before =
      std::locale::global(std::locale(std::locale(), new Commas));
  const std::string text = (1.5 * kM + 1234567).ToString();
  std::locale::global(before);
  EXPECT_EQ(text, "1.5*M + 1234567");
}

TEST(CheckSizes, NamesWhatIsNotPositive) {
  EXPECT_THAT(CheckSizes({1, 1, 1}), IsOk());
  EXPECT_THAT(CheckSizes({65536, 65536, 65536}), IsOk());
  EXPECT_THAT(
      CheckSizes({0, 1, 1}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("M is 0")));
  EXPECT_THAT(
      CheckSizes({1, -5, 1}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("K is -5")));
  EXPECT_THAT(
      CheckSizes({1, 1, std::numeric_limits<int64_t>::min()}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("N is -922337")));
}

}  // namespace
}  // namespace octet::roofline
