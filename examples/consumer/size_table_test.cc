// SPDX-License-Identifier: Apache-2.0

#include "size_table.h"

#include "gtest/gtest.h"

TEST(SizeTable, KnownAndUnknownTypes) {
  EXPECT_EQ(SizeLine("bf16", 4096).value(), "bf16: 8192 bytes");
  EXPECT_EQ(SizeLine("f8_e4m3", 4096).value(), "f8_e4m3: 4096 bytes");
  EXPECT_EQ(SizeLine("float12", 1).status().code(),
            absl::StatusCode::kInvalidArgument);
}
