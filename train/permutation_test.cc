// SPDX-License-Identifier: Apache-2.0

#include "train/permutation.h"

#include <vector>

#include "gtest/gtest.h"

namespace octet::train {
namespace {

TEST(Permutation, IsABijectionOfAnySize) {
  for (const int64_t n : {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4096}) {
    for (uint64_t round = 0; round < 4; ++round) {
      const Permutation permutation(42, round, n);
      std::vector<bool> seen(n);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t j = permutation(i);
        ASSERT_GE(j, 0);
        ASSERT_LT(j, n);
        ASSERT_FALSE(seen[j]) << n << " " << i;
        seen[j] = true;
      }
    }
  }
}

TEST(Permutation, EveryElementGoesEverywhere) {
  constexpr int kN = 5;
  constexpr int kRounds = 2000;
  int counts[kN][kN] = {};
  for (int round = 0; round < kRounds; ++round) {
    const Permutation permutation(1, round, kN);
    for (int i = 0; i < kN; ++i) ++counts[i][permutation(i)];
  }
  for (const auto& row : counts) {
    for (const int count : row) {
      EXPECT_NEAR(count, kRounds / kN, 100);  // 5.6 standard deviations
    }
  }
}

TEST(Permutation, DiffersBySeedAndRoundAndHoldsForLargeSizes) {
  const int64_t n = (int64_t{1} << 40) + 3;
  const Permutation a(1, 0, n), again(1, 0, n), b(2, 0, n), c(1, 1, n);
  EXPECT_EQ(a(n - 1), again(n - 1));
  EXPECT_NE(a(5), b(5));
  EXPECT_NE(a(5), c(5));
  EXPECT_LT(a(7), n);
}

}  // namespace
}  // namespace octet::train
