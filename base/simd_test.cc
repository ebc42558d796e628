// SPDX-License-Identifier: Apache-2.0
#include "base/simd.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace octet {
namespace {

TEST(SimdTest, UsableIsasRunFromScalarToTheBest) {
  const std::vector<Isa> usable = UsableIsas();
  ASSERT_FALSE(usable.empty());
  EXPECT_EQ(usable.front(), Isa::kScalar);
  EXPECT_EQ(usable.back(), BestIsa());
  EXPECT_LE(usable.size(), static_cast<size_t>(kNumIsas));
}

// In a process of its own: the answer is kept.
TEST(SimdDeathTest, TheEnvironmentLimitsIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto best_under = [](const char* limit) {
    setenv("OCTET_MAX_ISA", limit, /*overwrite=*/1);
    std::_Exit(static_cast<int>(BestIsa()));
  };
  EXPECT_EXIT(best_under("scalar"), ::testing::ExitedWithCode(0), "");
}

TEST(SimdTest, Names) {
  EXPECT_EQ(Name(Isa::kScalar), "scalar");
  EXPECT_EQ(Name(Isa::kAvx2), "avx2");
  EXPECT_EQ(Name(Isa::kAvx512), "avx512");
}

TEST(SimdTest, Bf16ProductsAreAnExtensionOfAvx512) {
  EXPECT_TRUE(!HasBf16Products() || BestIsa() == Isa::kAvx512);
}

}  // namespace
}  // namespace octet
