// SPDX-License-Identifier: Apache-2.0
#include "testing/tensor_matchers.h"

#include <cmath>
#include <limits>
#include <vector>

#include "testing/numbers.h"
#include "testing/status_matchers.h"

namespace octet::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TensorView View(std::vector<float>& values) {
  return TensorView::Of(absl::MakeSpan(values), DType::kF32);
}

TEST(TensorMatchersTest, RelativeError) {
  std::vector<float> a = {3.0f, 4.0f};
  std::vector<float> b = {3.0f, 4.5f};
  std::vector<float> zero = {0.0f, 0.0f};
  EXPECT_DOUBLE_EQ(RelativeError(View(b), View(a)), 0.1);
  EXPECT_EQ(RelativeError(View(a), View(a)), 0.0);
  EXPECT_EQ(RelativeError(View(zero), View(zero)), 0.0);
  EXPECT_EQ(RelativeError(View(zero), View(a)), 1.0);
  EXPECT_EQ(RelativeError(View(a), View(zero)), kInf);
  EXPECT_THAT(View(b), IsNear(View(a), 0.11));
  EXPECT_THAT(View(b), Not(IsNear(View(a), 0.09)));
}

TEST(TensorMatchersTest, NothingPassesWithNanOrAnotherShape) {
  std::vector<float> a = {1.0f, 2.0f};
  std::vector<float> nan = {1.0f, kNan};
  std::vector<float> inf = {1.0f, kInf};
  std::vector<float> longer = {1.0f, 2.0f, 0.0f};
  EXPECT_THAT(View(nan), Not(IsNear(View(a), kInf)));
  EXPECT_THAT(View(nan), Not(IsNear(View(nan), kInf)));
  EXPECT_THAT(View(inf), Not(IsNear(View(inf), kInf)));
  EXPECT_THAT(View(longer), Not(IsNear(View(a), kInf)));
}

TEST(TensorMatchersTest, ComparesAcrossDtypes) {
  std::vector<float> a = {1.0f, 2.0f};
  OCTET_ASSERT_OK_AND_ASSIGN(
      const Tensor b, FromDoubles({1.0, 2.0}, DType::kF8E4M3, Shape({2})));
  EXPECT_EQ(RelativeError(b, View(a)), 0.0);
}

TEST(TensorMatchersTest, BitwiseSeesTheSignOfZero) {
  std::vector<float> a = {0.0f, 1.0f, 2.0f};
  std::vector<float> b = {-0.0f, 1.0f, 3.0f};
  EXPECT_THAT(View(a), BitwiseEq(View(a)));
  EXPECT_THAT(
      BitwiseDifference(View(a), View(b)),
      HasSubstr("element 0 is 0x00000000 (0), expected 0x80000000 (-0); 2 of "
                "3"));
}

TEST(TensorMatchersTest, BitwiseTakesNansAsOneClass) {
  std::vector<float> a = {std::nanf("1"), 1.0f};
  std::vector<float> b = {-std::nanf("2"), 1.0f};
  std::vector<float> c = {5.0f, 1.0f};
  EXPECT_THAT(View(a), BitwiseEq(View(b)));
  EXPECT_THAT(View(a), Not(BitwiseEq(View(c))));
}

TEST(TensorMatchersTest, BitwiseAsksForDtypeAndShape) {
  std::vector<float> a = {1.0f, 2.0f};
  EXPECT_THAT(BitwiseDifference(View(a), View(a).Reshaped(Shape({2, 1}))),
              HasSubstr("is f32 [2] on cpu, expected f32 [2, 1] on cpu"));
}

}  // namespace
}  // namespace octet::testing
