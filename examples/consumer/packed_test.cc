// SPDX-License-Identifier: Apache-2.0

#include "packed.h"

#include "gtest/gtest.h"

TEST(PackTest, LargestValueBecomesTheFormatsLargest) {
  const absl::StatusOr<Packed> packed = Pack({1.0f, -3.5f, 0.0f, 1.75f});
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(packed->scale, 128.0f);  // 448 / 3.5
  // 128 = 2^7, -448, 0 and 224 = 1.75 * 2^7 in e4m3.
  EXPECT_EQ(packed->bytes, (std::vector<uint8_t>{0x70, 0xfe, 0x00, 0x76}));
}
