// SPDX-License-Identifier: Apache-2.0
#include "base/float16.h"

#include <cmath>

#include "gtest/gtest.h"

namespace octet {
namespace {

TEST(Float16Test, EveryPatternRoundTrips) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t b = static_cast<uint16_t>(bits);
    const float half = ToFloat(Float16{b});
    const float brain = ToFloat(Bfloat16{b});
    if (std::isnan(half)) {
      EXPECT_TRUE(std::isnan(ToFloat(ToFloat16(half))));
    } else {
      EXPECT_EQ(ToFloat16(half).bits, b);
    }
    if (std::isnan(brain)) {
      EXPECT_TRUE(std::isnan(ToFloat(ToBfloat16(brain))));
    } else {
      EXPECT_EQ(ToBfloat16(brain).bits, b);
    }
  }
}

TEST(Float16Test, KnownValues) {
  EXPECT_EQ(ToFloat(Float16{0x3c00}), 1.0f);
  EXPECT_EQ(ToFloat(Float16{0x7bff}), 65504.0f);
  EXPECT_EQ(ToFloat(Float16{0x0001}), 0x1p-24f);
  EXPECT_EQ(ToFloat(Bfloat16{0x3f80}), 1.0f);
}

// Midpoints between neighbours go to the even pattern, and their neighbours in
// float to the nearer one.
TEST(Float16Test, MidpointsGoToEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = ToFloat(Float16{static_cast<uint16_t>(bits)});
    const float high = ToFloat(Float16{static_cast<uint16_t>(bits + 1)});
    const float mid = low + (high - low) / 2;
    EXPECT_EQ(ToFloat16(mid).bits, bits + (bits & 1));
    EXPECT_EQ(ToFloat16(std::nextafter(mid, 0.0f)).bits, bits);
    EXPECT_EQ(ToFloat16(-std::nextafter(mid, 1e9f)).bits, 0x8000 + bits + 1);
  }
}

TEST(Float16Test, OverflowIsInfinity) {
  EXPECT_EQ(ToFloat16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(ToFloat16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(ToFloat16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(ToBfloat16(3.4e38f).bits, 0x7f80);
}

}  // namespace
}  // namespace octet
