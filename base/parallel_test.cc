// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <vector>

#include "gtest/gtest.h"

namespace octet {
namespace {

TEST(ParallelForTest, CoversEveryIndexOnce) {
  for (int64_t n : {0, 1, 7, 64, 1000}) {
    for (int64_t grain : {1, 3, 64, 5000}) {
      std::vector<int> hits(n, 0);
      ParallelFor(n, grain, [&](int64_t begin, int64_t end) {
        EXPECT_EQ(begin % grain, 0);
        for (int64_t i = begin; i < end; ++i) ++hits[i];
      });
      EXPECT_EQ(hits, std::vector<int>(n, 1)) << n << " by " << grain;
    }
  }
}

TEST(ParallelForTest, NestedCallsRun) {
  std::vector<int> hits(100, 0);
  ParallelFor(10, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ParallelFor(10, 1, [&](int64_t b, int64_t e) {
        for (int64_t j = b; j < e; ++j) ++hits[i * 10 + j];
      });
    }
  });
  EXPECT_EQ(hits, std::vector<int>(100, 1));
  EXPECT_GE(NumThreads(), 1);
}

}  // namespace
}  // namespace octet
