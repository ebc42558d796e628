// SPDX-License-Identifier: Apache-2.0
#include "base/philox.h"

#include <array>
#include <cstdint>

#include "gtest/gtest.h"

namespace octet {
namespace {

// The known-answer vectors of the authors' Random123 library.
TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(Philox(0, 0).Words(0),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                     0x9b00dbd8}));
  EXPECT_EQ(Philox(~0ull, ~0ull).Words(~0ull),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6,
                                     0x6d5451fd}));
}

TEST(PhiloxTest, NormalHasTheRightMoments) {
  const Philox philox(7, 3);
  const int n = 100000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = philox.Normal(i);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0.0, 0.01);
  EXPECT_NEAR(squares / n, 1.0, 0.02);
}

TEST(PhiloxTest, PairsAreTheElements) {
  const Philox philox(5, 9);
  for (uint64_t i = 0; i < 1000; ++i) {
    const std::array<float, 2> pair = philox.NormalPair(i);
    EXPECT_EQ(pair[0], philox.Normal(2 * i));
    EXPECT_EQ(pair[1], philox.Normal(2 * i + 1));
    EXPECT_NE(pair[0], pair[1]);
  }
}

TEST(PhiloxTest, UniformAndBelowStayInRange) {
  const Philox philox(1, 2);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const float u = philox.Uniform(i);
    EXPECT_GE(u, 0.0f);
    EXPECT_LT(u, 1.0f);
    sum += u;
    EXPECT_LT(philox.Below(i, 10), 10u);
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(PhiloxTest, StreamsAndSeedsDiffer) {
  EXPECT_NE(Philox(1, 0).Words(0), Philox(0, 0).Words(0));
  EXPECT_NE(Philox(0, 1).Words(0), Philox(0, 0).Words(0));
}

}  // namespace
}  // namespace octet
