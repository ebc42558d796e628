// SPDX-License-Identifier: Apache-2.0
#include "base/shape.h"

#include "testing/status_matchers.h"

namespace octet {
namespace {

using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ShapeTest, MatrixForm) {
  const Shape shape({2, 3, 5});
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.rows(), 6);
  EXPECT_EQ(shape.cols(), 5);
  EXPECT_EQ(shape.dim(-1), 5);
  EXPECT_EQ(shape.num_elements(), 30);
  EXPECT_EQ(shape.ToString(), "[2, 3, 5]");
  EXPECT_EQ(Shape().num_elements(), 1);
  EXPECT_EQ(Shape({4, 0}).num_elements(), 0);
}

TEST(ShapeTest, SizesAreSixtyFourBits) {
  EXPECT_EQ(Shape({65536, 32784}).num_elements(), 2148532224);
  OCTET_ASSERT_OK_AND_ASSIGN(const int64_t bytes,
                             CheckedProduct(65536LL * 32784, 2 * 8));
  EXPECT_EQ(bytes, 34376515584);
}

TEST(ShapeTest, BadSizesAreNamed) {
  EXPECT_THAT(Shape::FromDims({3, -1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("[3, -1] has a negative size")));
  EXPECT_THAT(Shape::FromDims({1, 1, 1, 1, 1, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Shape::FromDims({1LL << 40, 1LL << 40}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("does not fit in 64 bits")));
}

TEST(ShapeTest, CeilDiv) {
  EXPECT_EQ(CeilDiv(0, 128), 0);
  EXPECT_EQ(CeilDiv(128, 128), 1);
  EXPECT_EQ(CeilDiv(129, 128), 2);
}

}  // namespace
}  // namespace octet
