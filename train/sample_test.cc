// SPDX-License-Identifier: Apache-2.0

#include "train/sample.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::train {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Prefers the token after the last one, of 5.
absl::StatusOr<std::vector<float>> Successor(absl::Span<const int32_t> tokens) {
  std::vector<float> logits(5, 0.0f);
  logits[(tokens.back() + 1) % 5] = 2.0f;
  return logits;
}

TEST(DrawTokens, TemperatureZeroTakesTheLikeliest) {
  OCTET_ASSERT_OK_AND_ASSIGN(const auto tokens,
                             DrawTokens({0, 3}, {6, 0.0, 8, 1}, Successor));
  EXPECT_THAT(tokens, ElementsAre(4, 0, 1, 2, 3, 4));
}

TEST(DrawTokens, FollowsTheDistributionAndTheSeed) {
  const SampleOptions options = {4000, 1.0, 8, 1};
  OCTET_ASSERT_OK_AND_ASSIGN(const auto a, DrawTokens({0}, options, Successor));
  OCTET_ASSERT_OK_AND_ASSIGN(const auto b, DrawTokens({0}, options, Successor));
  OCTET_ASSERT_OK_AND_ASSIGN(const auto c,
                             DrawTokens({0}, {4000, 1.0, 8, 2}, Successor));
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  int successors = 0;
  for (size_t i = 1; i < a.size(); ++i)
    successors += a[i] == (a[i - 1] + 1) % 5;
  const double expected = std::exp(2.0) / (std::exp(2.0) + 4);
  EXPECT_NEAR(successors / 4000.0, expected, 0.04);
}

TEST(DrawTokens, ShowsTheModelItsContextOnly) {
  std::vector<size_t> sizes;
  const auto logits = [&](absl::Span<const int32_t> tokens) {
    sizes.push_back(tokens.size());
    return Successor(tokens);
  };
  ASSERT_THAT(DrawTokens({0, 1}, {3, 1.0, 3, 1}, logits), IsOk());
  EXPECT_THAT(sizes, ElementsAre(2, 3, 3));
}

TEST(DrawTokens, RefusesNanAndEmptyPrompts) {
  const auto nan = [](absl::Span<const int32_t>) {
    return absl::StatusOr<std::vector<float>>({0.0f, NAN});
  };
  EXPECT_THAT(DrawTokens({0}, {1, 1.0, 3, 1}, nan),
              StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(DrawTokens({}, {1, 1.0, 3, 1}, Successor),
              StatusIs(absl::StatusCode::kInvalidArgument));
  OCTET_ASSERT_OK_AND_ASSIGN(const auto none,
                             DrawTokens({0}, {0, 1.0, 3, 1}, nan));
  EXPECT_THAT(none, IsEmpty());
}

TEST(Printable, KeepsLinesAndHidesTheRest) {
  EXPECT_EQ(Printable("a\nb\t\x1b[2J\xC3\xA9"), "a\nb??[2J??");
}

}  // namespace
}  // namespace octet::train
