// SPDX-License-Identifier: Apache-2.0
#include "models/layers/elements.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "models/layers/small_matmul.h"
#include "models/layers/test_tensors.h"

namespace octet::models::internal {
namespace {

TEST(ElementsTest, ExpIsWithinTwoUlpsOfTheLibrarys) {
  for (float x = -87.0f; x < 88.0f; x += 0.01717f) {
    const double expected = std::exp(static_cast<double>(x));
    EXPECT_NEAR(Exp(x) / expected, 1.0, 2.5e-7) << x;
  }
}

TEST(ElementsTest, ExpAtItsEdges) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Exp(0.0f), 1.0f);
  EXPECT_EQ(Exp(-0.0f), 1.0f);
  EXPECT_EQ(Exp(-kInfinity), 0.0f);
  EXPECT_EQ(Exp(-100.0f), 0.0f);
  EXPECT_GT(Exp(kInfinity), 2e38f);
  EXPECT_TRUE(std::isnan(Exp(std::nanf(""))));
}

TEST(ElementsTest, StoreRoundsAsBaseDoesForEveryUpperHalf) {
  for (uint32_t high = 0; high < 65536; ++high) {
    for (const uint32_t low : {0u, 1u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      const uint32_t bits = high << 16 | low;
      float x;
      std::memcpy(&x, &bits, sizeof(x));
      Bfloat16 stored;
      Store(x, &stored);
      ASSERT_EQ(stored.bits, ToBfloat16(x).bits) << std::hex << bits;
    }
  }
}

struct MatmulKernel {
  template <int kVectorBytes>
  static OCTET_ALWAYS_INLINE void Run(int64_t m, int64_t n, int64_t inner,
                                      StridedMatrix<float> a, const float* b,
                                      bool accumulate, float* c) {
    SmallMatmul<kVectorBytes, float>(m, n, inner, a, b, n, accumulate, c, n);
  }
};

TEST(SmallMatmulTest, MatchesASumInDoubleForEveryTail) {
  constexpr int64_t kInner = 7;
  for (int64_t m = 1; m <= 19; ++m) {
    for (const int64_t n : {1, 3, 4, 8, 16, 31, 32, 33, 50, 64, 70}) {
      const auto a = NormalValues(m * kInner, 1);
      const auto b = NormalValues(n * kInner, 2);
      const std::vector<float> af(a.begin(), a.end());
      const std::vector<float> bf(b.begin(), b.end());
      for (const bool transposed : {false, true}) {
        std::vector<float> c(m * n, 3.0f);
        const StridedMatrix<float> view = {af.data(), transposed ? 1 : kInner,
                                           transposed ? m : 1};
        RunBest<MatmulKernel>(m, n, kInner, view, bf.data(), transposed,
                              c.data());
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            double sum = transposed ? 3.0 : 0.0;
            for (int64_t k = 0; k < kInner; ++k) {
              sum += a[transposed ? k * m + i : i * kInner + k] * b[k * n + j];
            }
            ASSERT_NEAR(c[i * n + j], sum, 1e-5) << m << " " << n;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace octet::models::internal
