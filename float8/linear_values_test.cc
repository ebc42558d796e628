// SPDX-License-Identifier: Apache-2.0

// What the linear layer computes under every recipe. How its parts are shared
// and kept: linear_test.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "float8/linear.h"
#include "float8/linear_fixture.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {
namespace {

using octet::testing::BitwiseEq;
using octet::testing::FromDoubles;
using octet::testing::IsNear;
using octet::testing::IsOk;
using octet::testing::RelativeError;
using octet::testing::ToDevice;
using ::testing::Each;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Empty if all are `want` but for the rounding of a scale's reciprocal, or on a
// GPU for the bits that fast accumulation drops (gemm.h).
std::string FarthestFrom(double want, double tolerance,
                         const std::vector<double>& values) {
  size_t farthest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(std::abs(values[i] - want) <= std::abs(values[farthest] - want))) {
      farthest = i;
    }
  }
  if (std::abs(values[farthest] - want) <= tolerance * want) return "";
  return absl::StrCat("element ", farthest, " is ", values[farthest], ", not ",
                      want);
}

// Case 36 (pytorch/ao#1268, #571), case 37 (pytorch/ao#571, #4106) and case 52
// (deepseek-ai/DeepGEMM#22): sizes that no 16 divides, in whichever of the
// three the sum runs along.
TEST_F(LinearTest, OnesOfAnySize) {
  // Fast accumulation drops bits of sums whose terms have one sign, the more
  // the longer they are (docs/numbers/h200.md, "Scaled GEMM").
  const bool on_gpu = stream_.device().kind != DeviceKind::kCpu;
  const auto tolerance = [&](int64_t sum) {
    return on_gpu ? 1e-3 + 2.5e-5 * static_cast<double>(sum) : 1e-6;
  };
  for (const Recipe& recipe : Recipes()) {
    for (const Size s : {Size{2, 15, 32}, Size{2, 32, 15}, Size{3, 16, 32},
                         Size{8, 16, 32}, Size{1, 512, 256}, Size{50, 64, 4096},
                         Size{16, 16, 17}, Size{128, 200, 192}}) {
      for (const DType dtype : {DType::kF32, DType::kBf16}) {
        if (dtype == DType::kBf16 && s.k > 100) continue;  // time
        SCOPED_TRACE(absl::StrCat(recipe.name, " ", Name(dtype), " m ", s.m,
                                  " n ", s.n, " k ", s.k));
        Layer layer(stream_, recipe, dtype, s);
        const Tensor x = Filled(dtype, Shape({s.m, s.k}), 1);
        const Tensor w = Filled(dtype, Shape({s.n, s.k}), 1);
        ASSERT_THAT(layer.Forward(x, w), IsOk());
        ASSERT_THAT(layer.Backward(Filled(dtype, Shape({s.m, s.n}), 1),
                                   kOverwrite, kOverwrite),
                    IsOk());
        EXPECT_EQ(FarthestFrom(s.k, tolerance(s.k), Values(layer.y)), "");
        EXPECT_EQ(FarthestFrom(s.n, tolerance(s.n), Values(layer.dx)), "");
        EXPECT_EQ(FarthestFrom(s.m, tolerance(s.m), Values(layer.dw)), "");
      }
    }
  }
}

// Against the bf16 recipe on the same values: each recipe's own error, within
// what two roundings to 3 (e5m2: 2) mantissa bits make on normal numbers.
TEST_F(LinearTest, EveryRecipeIsNearHighPrecision) {
  const Size s = {136, 70, 264};
  const Tensor x = Random(DType::kF32, Shape({s.m, s.k}), 1);
  const Tensor w = Random(DType::kF32, Shape({s.n, s.k}), 2);
  const Tensor g = Random(DType::kF32, Shape({s.m, s.n}), 3);
  const Tensor bias = Random(DType::kF32, Shape({s.n}), 4);
  Layer exact(stream_, *NamedRecipe("bf16"), DType::kF32, s);
  ASSERT_THAT(exact.Forward(x, w, bias), IsOk());
  ASSERT_THAT(exact.Backward(g, kOverwrite, kOverwrite), IsOk());
  const Tensor y = Host(exact.y), dx = Host(exact.dx), dw = Host(exact.dw);
  for (const Recipe& recipe : Recipes()) {
    if (!UsesFloat8(recipe)) continue;
    SCOPED_TRACE(recipe.name);
    Layer layer(stream_, recipe, DType::kF32, s);
    ASSERT_THAT(layer.Forward(x, w, bias), IsOk());
    ASSERT_THAT(layer.Backward(g, kOverwrite, kOverwrite), IsOk());
    const bool has_e5m2 = recipe.dgrad.a.cast.dtype == DType::kF8E5M2;
    EXPECT_THAT(Host(layer.y).view(), IsNear(y, 0.045));
    EXPECT_THAT(Host(layer.dx).view(), IsNear(dx, has_e5m2 ? 0.07 : 0.045));
    EXPECT_THAT(Host(layer.dw).view(), IsNear(dw, has_e5m2 ? 0.07 : 0.045));
    // It is float8, and a zeroed result would not pass.
    EXPECT_GT(RelativeError(Host(layer.y), y), 0.01);
    EXPECT_THAT(Values(layer.y), ::testing::Contains(::testing::Ne(0.0)));
    if (recipe.name == "rowwise_gw_hp") {
      EXPECT_THAT(Host(layer.dw).view(), BitwiseEq(dw));
    } else {
      EXPECT_GT(RelativeError(Host(layer.dw), dw), 0.01);
    }
  }
}

// Case 16 (pytorch/ao#4714).
TEST_F(LinearTest, ZerosGiveZeros) {
  const Size s = {16, 48, 32};
  for (const Recipe& recipe : Recipes()) {
    SCOPED_TRACE(recipe.name);
    Layer layer(stream_, recipe, DType::kF32, s);
    const Tensor x = Filled(DType::kF32, Shape({s.m, s.k}), 0);
    const Tensor w = Random(DType::kF32, Shape({s.n, s.k}), 1);
    ASSERT_THAT(layer.Forward(x, w), IsOk());
    ASSERT_THAT(layer.Backward(Filled(DType::kF32, Shape({s.m, s.n}), 0),
                               kOverwrite, kOverwrite),
                IsOk());
    EXPECT_THAT(Values(layer.y), Each(0.0));
    EXPECT_THAT(Values(layer.dx), Each(0.0));
    EXPECT_THAT(Values(layer.dw), Each(0.0));
  }
}

// Case 39 (pytorch/pytorch#140967).
TEST_F(LinearTest, NoTokens) {
  const Size s = {0, 48, 32};
  for (const Recipe& recipe : Recipes()) {
    SCOPED_TRACE(recipe.name);
    Layer layer(stream_, recipe, DType::kF32, s);
    layer.dw = Filled(DType::kF32, Shape({s.n, s.k}), 3.0);
    const Tensor x = Filled(DType::kF32, Shape({s.m, s.k}), 0);
    const Tensor w = Random(DType::kF32, Shape({s.n, s.k}), 1);
    ASSERT_THAT(layer.Forward(x, w), IsOk());
    const Tensor g = Filled(DType::kF32, Shape({s.m, s.n}), 0);
    ASSERT_THAT(layer.Backward(g, kOverwrite, kAccumulate), IsOk());
    EXPECT_THAT(Values(layer.dw), Each(3.0));
    ASSERT_THAT(layer.Backward(g, kOverwrite, kOverwrite), IsOk());
    EXPECT_THAT(Values(layer.dw), Each(0.0));
  }
}

// Never hidden: in each recipe the element's own row shows it at least.
TEST_F(LinearTest, NonFiniteInputsShow) {
  const Size s = {16, 48, 32};
  for (const Recipe& recipe : Recipes()) {
    for (const double bad : {kNaN, HUGE_VAL}) {
      SCOPED_TRACE(absl::StrCat(recipe.name, " ", bad));
      std::vector<double> values(s.m * s.k, 1.0);
      values[5 * s.k + 7] = bad;
      const Tensor x = *ToDevice(
          stream_, *FromDoubles(values, DType::kF32, Shape({s.m, s.k})));
      Layer layer(stream_, recipe, DType::kF32, s);
      const Tensor w = Random(DType::kF32, Shape({s.n, s.k}), 1);
      ASSERT_THAT(layer.Forward(x, w), IsOk());
      EXPECT_FALSE(std::isfinite(Values(layer.y)[5 * s.n]));
      ASSERT_THAT(layer.Backward(Filled(DType::kF32, Shape({s.m, s.n}), 1),
                                 kOverwrite, kOverwrite),
                  IsOk());
      EXPECT_FALSE(std::isfinite(Values(layer.dw)[7]));
    }
  }
}

}  // namespace
}  // namespace octet::float8
