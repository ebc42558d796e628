// SPDX-License-Identifier: Apache-2.0
#include "base/simd.h"

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
