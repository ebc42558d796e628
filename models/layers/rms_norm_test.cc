// SPDX-License-Identifier: Apache-2.0
#include "models/layers/rms_norm.h"

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
using ::testing::HasSubstr;

constexpr int64_t kRows = 5;
constexpr int64_t kHidden = 37;
const Shape kShape({kRows, kHidden});
const Shape kRow({kHidden});

DType StatisticOf(DType dtype) {
  return dtype == DType::kF64 ? DType::kF64 : DType::kF32;
}

struct Inputs {
  std::vector<double> residual = NormalValues(kRows * kHidden, 1);
  std::vector<double> delta = NormalValues(kRows * kHidden, 2, 0.5);
  std::vector<double> weight = NormalValues(kHidden, 3);
  std::vector<double> dy = NormalValues(kRows * kHidden, 4);
};

struct Result {
  std::vector<double> x, y, dx, dweight;
};

// dx and dweight start from 1, so that accumulation shows.
Result RunBoth(const Inputs& in, DType dtype) {
  const Tensor residual = MakeTensor(dtype, kShape, in.residual);
  const Tensor delta = MakeTensor(dtype, kShape, in.delta);
  const Tensor weight = MakeTensor(dtype, kRow, in.weight);
  const Tensor dy = MakeTensor(dtype, kShape, in.dy);
  const Tensor x = MakeZeros(dtype, kShape);
  const Tensor y = MakeZeros(dtype, kShape);
  const Tensor rstd = MakeZeros(StatisticOf(dtype), Shape({kRows}));
  EXPECT_THAT(
      RmsNormForward(Stream(), {residual, delta, weight, 1e-5, x, y, rstd}),
      IsOk());
  const Tensor dx =
      MakeTensor(dtype, kShape, std::vector<double>(kRows * kHidden, 1.0));
  const Tensor dweight =
      MakeTensor(StatisticOf(dtype), kRow, std::vector<double>(kHidden, 1.0));
  EXPECT_THAT(RmsNormBackward(Stream(), {x, weight, rstd, dy, dx, dweight}),
              IsOk());
  return {Doubles(x), Doubles(y), Doubles(dx), Doubles(dweight)};
}

std::vector<double> Reference(const Inputs& in) {
  std::vector<double> y(kRows * kHidden);
  for (int64_t i = 0; i < kRows; ++i) {
    double sum = 0.0;
    for (int64_t j = 0; j < kHidden; ++j) {
      const int64_t at = i * kHidden + j;
      y[at] = in.residual[at] + in.delta[at];
      sum += y[at] * y[at];
    }
    const double rms = std::sqrt(sum / kHidden + 1e-5);
    for (int64_t j = 0; j < kHidden; ++j) {
      y[i * kHidden + j] *= in.weight[j] / rms;
    }
  }
  return y;
}

double Loss(const Inputs& in) {
  const std::vector<double> y = RunBoth(in, DType::kF64).y;
  double loss = 0.0;
  for (size_t i = 0; i < y.size(); ++i) loss += y[i] * in.dy[i];
  return loss;
}

TEST(RmsNormTest, MatchesTheFormula) {
  const Inputs in;
  const std::vector<double> expected = Reference(in);
  EXPECT_LT(ErrorOf(RunBoth(in, DType::kF64).y, expected), 1e-14);
  EXPECT_LT(ErrorOf(RunBoth(in, DType::kF32).y, expected), 1e-6);
  EXPECT_LT(ErrorOf(RunBoth(in, DType::kBf16).y, expected), 0x1p-7);
}

TEST(RmsNormTest, GradientsMatchDifferencesAndAccumulate) {
  Inputs in;
  Result result = RunBoth(in, DType::kF64);
  for (double& g : result.dx) g -= 1.0;
  for (double& g : result.dweight) g -= 1.0;
  const auto loss = [&] { return Loss(in); };
  EXPECT_TRUE(GradientMatches(loss, absl::MakeSpan(in.residual), result.dx));
  EXPECT_TRUE(GradientMatches(loss, absl::MakeSpan(in.delta), result.dx));
  EXPECT_TRUE(GradientMatches(loss, absl::MakeSpan(in.weight), result.dweight));
}

TEST(RmsNormTest, NarrowDtypesAgreeWithDouble) {
  const Inputs in;
  const Result expected = RunBoth(in, DType::kF64);
  const Result f32 = RunBoth(in, DType::kF32);
  const Result bf16 = RunBoth(in, DType::kBf16);
  EXPECT_LT(ErrorOf(f32.dx, expected.dx), 1e-6);
  EXPECT_LT(ErrorOf(f32.dweight, expected.dweight), 1e-6);
  EXPECT_LT(ErrorOf(bf16.dx, expected.dx), 0x1p-6);
  EXPECT_LT(ErrorOf(bf16.dweight, expected.dweight), 0x1p-6);
}

TEST(RmsNormTest, WithoutDeltaNormalisesTheResidual) {
  Inputs in;
  in.delta.assign(in.delta.size(), 0.0);
  const Tensor residual = MakeTensor(DType::kF64, kShape, in.residual);
  const Tensor weight = MakeTensor(DType::kF64, kRow, in.weight);
  const Tensor y = MakeZeros(DType::kF64, kShape);
  const Tensor rstd = MakeZeros(DType::kF64, Shape({kRows}));
  ASSERT_THAT(
      RmsNormForward(Stream(), {residual, {}, weight, 1e-5, {}, y, rstd}),
      IsOk());
  EXPECT_LT(ErrorOf(Doubles(y), Reference(in)), 1e-14);
}

TEST(RmsNormTest, TheSumMayBeWrittenOverTheResidual) {
  const Inputs in;
  const Tensor x = MakeTensor(DType::kF64, kShape, in.residual);
  const Tensor delta = MakeTensor(DType::kF64, kShape, in.delta);
  const Tensor weight = MakeTensor(DType::kF64, kRow, in.weight);
  const Tensor y = MakeZeros(DType::kF64, kShape);
  const Tensor rstd = MakeZeros(DType::kF64, Shape({kRows}));
  ASSERT_THAT(RmsNormForward(Stream(), {x, delta, weight, 1e-5, x, y, rstd}),
              IsOk());
  EXPECT_LT(ErrorOf(Doubles(y), Reference(in)), 1e-14);
}

TEST(RmsNormTest, ARowOfZerosStaysFinite) {
  Inputs in;
  in.residual.assign(in.residual.size(), 0.0);
  in.delta.assign(in.delta.size(), 0.0);
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    const Result result = RunBoth(in, dtype);
    for (const double y : result.y) EXPECT_EQ(y, 0.0);
    for (const double g : result.dx) EXPECT_TRUE(std::isfinite(g));
  }
}

TEST(RmsNormTest, RefusesShapesThatDoNotFit) {
  const Tensor x = MakeZeros(DType::kF32, kShape);
  const Tensor rstd = MakeZeros(DType::kF32, Shape({kRows}));
  const Tensor short_weight = MakeZeros(DType::kF32, Shape({3}));
  EXPECT_THAT(
      RmsNormForward(Stream(), {x, {}, short_weight, 1e-5, {}, x, rstd}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("weight is f32 [3] on cpu, expected f32 [37]")));
  const Tensor weight = MakeZeros(DType::kF32, kRow);
  const Tensor bf16_dweight = MakeZeros(DType::kBf16, kRow);
  EXPECT_THAT(
      RmsNormBackward(Stream(), {x, weight, rstd, x, x, bf16_dweight}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dweight")));
}

}  // namespace
}  // namespace octet::models
