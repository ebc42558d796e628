// SPDX-License-Identifier: Apache-2.0
#include "base/edit_distance.h"

#include "gtest/gtest.h"

namespace octet {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacements) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("same", "same"), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("sitting", "kitten"), 3);
  EXPECT_EQ(EditDistance("ab", "ba"), 2);
}

TEST(IsNear, UpToAThird) {
  EXPECT_TRUE(IsNear("tensorwize", "tensorwise"));
  EXPECT_TRUE(IsNear("abc", "abx"));
  EXPECT_FALSE(IsNear("abc", "axx"));
  EXPECT_FALSE(IsNear("foo", "bf16"));
  EXPECT_FALSE(IsNear("foo", "job.device"));
  EXPECT_TRUE(IsNear("", ""));
}

}  // namespace
}  // namespace octet
