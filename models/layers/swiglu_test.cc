// SPDX-License-Identifier: Apache-2.0
#include "models/layers/swiglu.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "testing/gradient_check.h"
#include "testing/status_matchers.h"

namespace octet::models {
namespace {

using octet::testing::GradientMatches;
using octet::testing::IsOk;
using octet::testing::StatusIs;

constexpr int64_t kSize = 3 * 67;
const Shape kShape({3, 67});

struct Inputs {
  std::vector<double> gate = NormalValues(kSize, 1, 2.0);
  std::vector<double> up = NormalValues(kSize, 2);
  std::vector<double> dy = NormalValues(kSize, 3);
};

std::vector<double> Forward(const Inputs& in, DType dtype) {
  const Tensor y = MakeZeros(dtype, kShape);
  EXPECT_THAT(SwigluForward(Stream(), MakeTensor(dtype, kShape, in.gate),
                            MakeTensor(dtype, kShape, in.up), y),
              IsOk());
  return Doubles(y);
}

struct Gradients {
  std::vector<double> gate, up;
};

// In place, as the model does it.
Gradients Backward(const Inputs& in, DType dtype) {
  const Tensor gate = MakeTensor(dtype, kShape, in.gate);
  const Tensor up = MakeTensor(dtype, kShape, in.up);
  EXPECT_THAT(SwigluBackward(Stream(), gate, up,
                             MakeTensor(dtype, kShape, in.dy), gate, up),
              IsOk());
  return {Doubles(gate), Doubles(up)};
}

TEST(SwigluTest, MatchesTheFormula) {
  const Inputs in;
  std::vector<double> expected(kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    expected[i] = in.gate[i] / (1.0 + std::exp(-in.gate[i])) * in.up[i];
  }
  EXPECT_LT(ErrorOf(Forward(in, DType::kF64), expected), 1e-15);
  EXPECT_LT(ErrorOf(Forward(in, DType::kF32), expected), 1e-6);
  EXPECT_LT(ErrorOf(Forward(in, DType::kBf16), expected), 0x1p-7);
}

TEST(SwigluTest, GradientsMatchDifferences) {
  Inputs in;
  const Gradients gradients = Backward(in, DType::kF64);
  const auto loss = [&] {
    const std::vector<double> y = Forward(in, DType::kF64);
    double sum = 0.0;
    for (int64_t i = 0; i < kSize; ++i) sum += y[i] * in.dy[i];
    return sum;
  };
  EXPECT_TRUE(GradientMatches(loss, absl::MakeSpan(in.gate), gradients.gate));
  EXPECT_TRUE(GradientMatches(loss, absl::MakeSpan(in.up), gradients.up));
  const Gradients f32 = Backward(in, DType::kF32);
  EXPECT_LT(ErrorOf(f32.gate, gradients.gate), 1e-6);
  EXPECT_LT(ErrorOf(f32.up, gradients.up), 1e-6);
  const Gradients bf16 = Backward(in, DType::kBf16);
  EXPECT_LT(ErrorOf(bf16.gate, gradients.gate), 0x1p-6);
  EXPECT_LT(ErrorOf(bf16.up, gradients.up), 0x1p-6);
}

TEST(SwigluTest, LargeGatesStayFiniteAndNanStaysNan) {
  const Tensor gate =
      MakeTensor(DType::kF32, Shape({4}), {200.0, -200.0, 0.0, NAN});
  const Tensor up = MakeTensor(DType::kF32, Shape({4}), {2.0, 2.0, 2.0, 2.0});
  const Tensor y = MakeZeros(DType::kF32, Shape({4}));
  ASSERT_THAT(SwigluForward(Stream(), gate, up, y), IsOk());
  EXPECT_EQ(y.as<float>()[0], 400.0f);
  EXPECT_NEAR(y.as<float>()[1], 0.0f, 1e-30);
  EXPECT_EQ(y.as<float>()[2], 0.0f);
  EXPECT_TRUE(std::isnan(y.as<float>()[3]));
}

TEST(SwigluTest, RefusesShapesThatDiffer) {
  EXPECT_THAT(SwigluForward(Stream(), MakeZeros(DType::kF32, kShape),
                            MakeZeros(DType::kF32, Shape({67, 3})),
                            MakeZeros(DType::kF32, kShape)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(SwigluForward(Stream(), MakeZeros(DType::kF16, kShape),
                            MakeZeros(DType::kF16, kShape),
                            MakeZeros(DType::kF16, kShape)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace octet::models
