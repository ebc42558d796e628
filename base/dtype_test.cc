// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include "testing/status_matchers.h"

namespace octet {
namespace {

using ::octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DTypeTest, NamesRoundTripInBothCases) {
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    const DType dtype = static_cast<DType>(i);
    OCTET_ASSERT_OK_AND_ASSIGN(const DType parsed, ParseDType(Name(dtype)));
    EXPECT_EQ(parsed, dtype) << Name(dtype);
  }
  OCTET_ASSERT_OK_AND_ASSIGN(const DType e4m3, ParseDType("F8_E4M3"));
  EXPECT_EQ(e4m3, DType::kF8E4M3);
}

TEST(DTypeTest, Sizes) {
  EXPECT_EQ(SizeOf(DType::kF64), 8);
  EXPECT_EQ(SizeOf(DType::kF32), 4);
  EXPECT_EQ(SizeOf(DType::kBf16), 2);
  EXPECT_EQ(SizeOf(DType::kF8E5M2), 1);
  EXPECT_EQ(SizeOf(DType::kU16), 2);
  EXPECT_EQ(SizeOf(DType::kBool), 1);
}

TEST(DTypeTest, UnknownNameListsTheKnownOnes) {
  EXPECT_THAT(ParseDType("float42"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("float42"), HasSubstr("f8_e4m3"))));
}

TEST(DTypeTest, OnlyTwoTypesAreFloat8) {
  EXPECT_TRUE(IsFloat8(DType::kF8E4M3));
  EXPECT_TRUE(IsFloat8(DType::kF8E5M2));
  EXPECT_FALSE(IsFloat8(DType::kF8E8M0));
  EXPECT_FALSE(IsFloat8(DType::kU8));
}

}  // namespace
}  // namespace octet
