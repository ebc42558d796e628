// SPDX-License-Identifier: Apache-2.0
#include "models/layers/rms_norm.h"

#include <cmath>
#include <limits>
#include <vector>

#include "float8/amax.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "testing/gradient_check.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::models {
namespace {

using octet::testing::BitwiseEq;
using octet::testing::GradientMatches;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int64_t kRows = 5;
constexpr int64_t kHidden = 37;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

DType StatisticOf(DType dtype) {
  return dtype == DType::kF64 ? DType::kF64 : DType::kF32;
}

struct Inputs {
  explicit Inputs(int64_t rows = kRows, int64_t hidden = kHidden)
      : rows(rows),
        hidden(hidden),
        residual(NormalValues(rows * hidden, 1)),
        delta(NormalValues(rows * hidden, 2, 0.5)),
        weight(NormalValues(hidden, 3)),
        dy(NormalValues(rows * hidden, 4)) {}

  int64_t rows, hidden;
  std::vector<double> residual, delta, weight, dy;
};

// On the stream's device.
Tensor On(const Stream& stream, DType dtype, const Shape& shape,
          const std::vector<double>& values) {
  absl::StatusOr<Tensor> tensor =
      octet::testing::ToDevice(stream, MakeTensor(dtype, shape, values));
  EXPECT_THAT(tensor, IsOk());
  return *std::move(tensor);
}

Tensor Constant(const Stream& stream, DType dtype, const Shape& shape,
                double value) {
  return On(stream, dtype, shape,
            std::vector<double>(shape.num_elements(), value));
}

Tensor Host(const Stream& stream, const Tensor& tensor) {
  absl::StatusOr<Tensor> host = octet::testing::ToHost(stream, tensor);
  EXPECT_THAT(host, IsOk());
  return *std::move(host);
}

// On the host.
struct Result {
  Tensor x, y, rstd, amax, dx, dweight, dx_amax;
};

// Outputs that are overwritten start as NaN; dx and dweight from 1, so that
// accumulation shows.
Result RunBoth(const Stream& stream, const Inputs& in, DType dtype) {
  const Shape shape({in.rows, in.hidden}), row({in.hidden});
  const Tensor residual = On(stream, dtype, shape, in.residual);
  const Tensor delta = On(stream, dtype, shape, in.delta);
  const Tensor weight = On(stream, dtype, row, in.weight);
  const Tensor dy = On(stream, dtype, shape, in.dy);
  const Tensor x = Constant(stream, dtype, shape, kNan);
  const Tensor y = Constant(stream, dtype, shape, kNan);
  const Tensor rstd =
      Constant(stream, StatisticOf(dtype), Shape({in.rows}), kNan);
  const Tensor amax = Constant(stream, DType::kF32, Shape({1, 1}), kNan);
  RmsNormForwardArgs args = {residual, delta, weight, 1e-5, x, y, rstd};
  if (dtype != DType::kF64) args.amax = amax;
  EXPECT_THAT(RmsNormForward(stream, args), IsOk());
  const Tensor dx = Constant(stream, dtype, shape, 1.0);
  const Tensor dweight = Constant(stream, StatisticOf(dtype), row, 1.0);
  const Tensor dx_amax = Constant(stream, DType::kF32, Shape({1, 1}), kNan);
  RmsNormBackwardArgs backward = {x, weight, rstd, dy, dx, dweight};
  if (dtype != DType::kF64) backward.dx_amax = dx_amax;
  EXPECT_THAT(RmsNormBackward(stream, backward), IsOk());
  EXPECT_THAT(stream.Synchronize(), IsOk());
  return {Host(stream, x),      Host(stream, y),  Host(stream, rstd),
          Host(stream, amax),   Host(stream, dx), Host(stream, dweight),
          Host(stream, dx_amax)};
}

std::vector<double> Reference(const Inputs& in) {
  std::vector<double> y(in.rows * in.hidden);
  for (int64_t i = 0; i < in.rows; ++i) {
    double sum = 0.0;
    for (int64_t j = 0; j < in.hidden; ++j) {
      const int64_t at = i * in.hidden + j;
      y[at] = in.residual[at] + in.delta[at];
      sum += y[at] * y[at];
    }
    const double rms = std::sqrt(sum / in.hidden + 1e-5);
    for (int64_t j = 0; j < in.hidden; ++j) {
      y[i * in.hidden + j] *= in.weight[j] / rms;
    }
  }
  return y;
}

double Loss(const Inputs& in) {
  const std::vector<double> y = Doubles(RunBoth(Stream(), in, DType::kF64).y);
  double loss = 0.0;
  for (size_t i = 0; i < y.size(); ++i) loss += y[i] * in.dy[i];
  return loss;
}

// Rows of whole vectors and others; one that is too long for registers.
TEST(RmsNormTest, MatchesTheFormulaForAnyHidden) {
  OCTET_TEST_STREAM(stream);
  for (const int64_t hidden : {1, 7, 33, 64, 1024, 4096, 4100, 14336, 40000}) {
    const Inputs in(3, hidden);
    const std::vector<double> expected = Reference(in);
    const Result f32 = RunBoth(stream, in, DType::kF32);
    EXPECT_LT(ErrorOf(Doubles(f32.y), expected), 1e-6) << hidden;
    const Result bf16 = RunBoth(stream, in, DType::kBf16);
    EXPECT_LT(ErrorOf(Doubles(bf16.y), expected), 0x1p-7) << hidden;
    const Result exact = RunBoth(Stream(), in, DType::kF64);
    EXPECT_LT(ErrorOf(Doubles(f32.dx), Doubles(exact.dx)), 1e-6) << hidden;
    EXPECT_LT(ErrorOf(Doubles(f32.dweight), Doubles(exact.dweight)), 1e-6)
        << hidden;
    EXPECT_LT(ErrorOf(Doubles(bf16.dx), Doubles(exact.dx)), 0x1p-6) << hidden;
    EXPECT_LT(ErrorOf(Doubles(bf16.dweight), Doubles(exact.dweight)), 0x1p-6)
        << hidden;
  }
}

// More rows than blocks of a GPU: each takes several.
TEST(RmsNormTest, ManyRows) {
  OCTET_TEST_STREAM(stream);
  for (const int64_t hidden : {72, 77}) {
    const Inputs in(9001, hidden);
    const Result exact = RunBoth(Stream(), in, DType::kF64);
    const Result bf16 = RunBoth(stream, in, DType::kBf16);
    EXPECT_LT(ErrorOf(Doubles(bf16.y), Doubles(exact.y)), 0x1p-7);
    EXPECT_LT(ErrorOf(Doubles(bf16.dx), Doubles(exact.dx)), 0x1p-6);
    EXPECT_LT(ErrorOf(Doubles(bf16.dweight), Doubles(exact.dweight)), 0x1p-6);
  }
}

// x is the sum, rounded, on every device; y differs from the CPU's by the last
// bit of few elements at most.
TEST(RmsNormTest, DevicesAgree) {
  OCTET_TEST_STREAM(stream);
  const Inputs in(64, 1024);
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    const Result here = RunBoth(stream, in, dtype);
    const Result cpu = RunBoth(Stream(), in, dtype);
    EXPECT_THAT(here.x, BitwiseEq(cpu.x));
    const std::vector<double> y = Doubles(here.y), want = Doubles(cpu.y);
    const double ulp = dtype == DType::kBf16 ? 0x1p-7 : 0x1p-21;
    int64_t different = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_LE(std::abs(y[i] - want[i]), ulp * std::abs(want[i]));
      different += y[i] != want[i];
    }
    if (dtype == DType::kBf16) {
      EXPECT_LT(different, in.rows * in.hidden / 500);
    }
  }
}

TEST(RmsNormTest, SameBitsEveryTime) {
  OCTET_TEST_STREAM(stream);
  for (const int64_t hidden : {520, 523}) {
    const Inputs in(3001, hidden);
    const Result first = RunBoth(stream, in, DType::kBf16);
    const Result second = RunBoth(stream, in, DType::kBf16);
    EXPECT_THAT(second.y, BitwiseEq(first.y));
    EXPECT_THAT(second.rstd, BitwiseEq(first.rstd));
    EXPECT_THAT(second.amax, BitwiseEq(first.amax));
    EXPECT_THAT(second.dx, BitwiseEq(first.dx));
    EXPECT_THAT(second.dweight, BitwiseEq(first.dweight));
    EXPECT_THAT(second.dx_amax, BitwiseEq(first.dx_amax));
  }
}

TEST(RmsNormTest, GradientsMatchDifferencesAndAccumulate) {
  Inputs in;
  const Result result = RunBoth(Stream(), in, DType::kF64);
  EXPECT_LT(ErrorOf(Doubles(result.y), Reference(in)), 1e-14);
  std::vector<double> dx = Doubles(result.dx);
  std::vector<double> dweight = Doubles(result.dweight);
  for (double& g : dx) g -= 1.0;
  for (double& g : dweight) g -= 1.0;
  const auto loss = [&] { return Loss(in); };
  EXPECT_TRUE(GradientMatches(loss, absl::MakeSpan(in.residual), dx));
  EXPECT_TRUE(GradientMatches(loss, absl::MakeSpan(in.delta), dx));
  EXPECT_TRUE(GradientMatches(loss, absl::MakeSpan(in.weight), dweight));
}

TEST(RmsNormTest, AmaxIsThatOfY) {
  OCTET_TEST_STREAM(stream);
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const int64_t hidden : {5, 264}) {
      for (const double planted : {0.25, -1e30, kInfinity, kNan}) {
        Inputs in(700, hidden);
        in.residual[699 * hidden + 4] = planted;
        const Result result = RunBoth(stream, in, dtype);
        const Tensor want = Constant(Stream(), DType::kF32, Shape({1, 1}), 0.0);
        ASSERT_THAT(float8::Amax(Stream(), result.y,
                                 float8::Granularity::kTensor, want),
                    IsOk());
        EXPECT_THAT(result.amax, BitwiseEq(want)) << hidden << " " << planted;
        if (!std::isfinite(planted)) {
          EXPECT_TRUE(std::isnan(Doubles(result.amax)[0]));
        }
      }
    }
  }
}

// What was in dx counts: the largest may be no part of what is added.
TEST(RmsNormTest, DxAmaxIsThatOfTheSum) {
  OCTET_TEST_STREAM(stream);
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const int64_t hidden : {5, 264, 4096, 9000, 40000}) {
      for (const double planted : {0.25, -1e30, kNan}) {
        Inputs in(hidden > 4096 ? 3 : 700, hidden);
        in.dy[in.rows * hidden - 2] = planted;
        const Result result = RunBoth(stream, in, dtype);
        const Tensor want = Constant(Stream(), DType::kF32, Shape({1, 1}), 0.0);
        ASSERT_THAT(float8::Amax(Stream(), result.dx,
                                 float8::Granularity::kTensor, want),
                    IsOk());
        EXPECT_THAT(result.dx_amax, BitwiseEq(want))
            << hidden << " " << planted;
        EXPECT_EQ(std::isnan(Doubles(result.dx_amax)[0]), std::isnan(planted));
      }
    }
  }
}

TEST(RmsNormTest, DxAmaxOfWhatStaysIsThatOfDx) {
  OCTET_TEST_STREAM(stream);
  for (const int64_t hidden : {33, 256}) {
    const Shape shape({kRows, hidden}), row({hidden});
    const Tensor zeros = Constant(stream, DType::kBf16, shape, 0.0);
    const Tensor weight = Constant(stream, DType::kBf16, row, 1.0);
    const Tensor rstd = Constant(stream, DType::kF32, Shape({kRows}), 1.0);
    const Tensor dweight = Constant(stream, DType::kF32, row, 0.0);
    const Tensor amax = Constant(stream, DType::kF32, Shape({1, 1}), 100.0);
    for (const double planted : {-3.0, -kInfinity}) {
      std::vector<double> values(kRows * hidden, 0.5);
      values[2 * hidden + 1] = planted;
      const Tensor dx = On(stream, DType::kBf16, shape, values);
      ASSERT_THAT(RmsNormBackward(
                      stream, {zeros, weight, rstd, zeros, dx, dweight, amax}),
                  IsOk());
      EXPECT_EQ(Doubles(Host(stream, amax))[0], -planted);
    }
  }
}

// An infinite weight: y has one, and rstd does not.
TEST(RmsNormTest, AmaxKeepsInfinity) {
  OCTET_TEST_STREAM(stream);
  for (const int64_t hidden : {33, 128}) {
    Inputs in(20, hidden);
    in.weight[3] = -kInfinity;
    const Result result = RunBoth(stream, in, DType::kBf16);
    EXPECT_EQ(Doubles(result.amax)[0], kInfinity);
  }
}

TEST(RmsNormTest, NoRows) {
  OCTET_TEST_STREAM(stream);
  const Inputs in(0, 64);
  const Result result = RunBoth(stream, in, DType::kBf16);
  EXPECT_EQ(Doubles(result.amax)[0], 0.0);
  EXPECT_EQ(Doubles(result.dx_amax)[0], 0.0);
  EXPECT_EQ(Doubles(result.dweight), std::vector<double>(64, 1.0));
}

TEST(RmsNormTest, WithoutDeltaNormalisesTheResidual) {
  OCTET_TEST_STREAM(stream);
  for (const int64_t hidden : {37, 256}) {
    Inputs in(kRows, hidden);
    in.delta.assign(in.delta.size(), 0.0);
    const Shape shape({kRows, hidden});
    const Tensor residual = On(stream, DType::kF32, shape, in.residual);
    const Tensor weight = On(stream, DType::kF32, Shape({hidden}), in.weight);
    const Tensor y = Constant(stream, DType::kF32, shape, kNan);
    const Tensor rstd = Constant(stream, DType::kF32, Shape({kRows}), kNan);
    ASSERT_THAT(
        RmsNormForward(stream, {residual, {}, weight, 1e-5, {}, y, rstd}),
        IsOk());
    ASSERT_THAT(stream.Synchronize(), IsOk());
    EXPECT_LT(ErrorOf(Doubles(Host(stream, y)), Reference(in)), 1e-6);
  }
}

TEST(RmsNormTest, TheSumMayBeWrittenOverTheResidual) {
  OCTET_TEST_STREAM(stream);
  for (const int64_t hidden : {37, 256}) {
    const Inputs in(kRows, hidden);
    const Shape shape({kRows, hidden});
    const Tensor x = On(stream, DType::kF32, shape, in.residual);
    const Tensor delta = On(stream, DType::kF32, shape, in.delta);
    const Tensor weight = On(stream, DType::kF32, Shape({hidden}), in.weight);
    const Tensor y = Constant(stream, DType::kF32, shape, kNan);
    const Tensor rstd = Constant(stream, DType::kF32, Shape({kRows}), kNan);
    ASSERT_THAT(RmsNormForward(stream, {x, delta, weight, 1e-5, x, y, rstd}),
                IsOk());
    ASSERT_THAT(stream.Synchronize(), IsOk());
    EXPECT_LT(ErrorOf(Doubles(Host(stream, y)), Reference(in)), 1e-6);
  }
}

TEST(RmsNormTest, ARowOfZerosStaysFinite) {
  OCTET_TEST_STREAM(stream);
  Inputs in;
  in.residual.assign(in.residual.size(), 0.0);
  in.delta.assign(in.delta.size(), 0.0);
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    const Result result = RunBoth(stream, in, dtype);
    for (const double y : Doubles(result.y)) EXPECT_EQ(y, 0.0);
    for (const double g : Doubles(result.dx)) EXPECT_TRUE(std::isfinite(g));
  }
}

TEST(RmsNormTest, RefusesWhatDoesNotFit) {
  const Shape shape({kRows, kHidden});
  const Tensor x = MakeZeros(DType::kF32, shape);
  const Tensor rstd = MakeZeros(DType::kF32, Shape({kRows}));
  const Tensor short_weight = MakeZeros(DType::kF32, Shape({3}));
  EXPECT_THAT(
      RmsNormForward(Stream(), {x, {}, short_weight, 1e-5, {}, x, rstd}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("weight is f32 [3] on cpu, expected f32 [37]")));
  const Tensor weight = MakeZeros(DType::kF32, Shape({kHidden}));
  EXPECT_THAT(
      RmsNormForward(Stream(), {x, {}, weight, 1e-5, {}, x, rstd, rstd}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("amax")));
  const Tensor bf16_dweight = MakeZeros(DType::kBf16, Shape({kHidden}));
  EXPECT_THAT(
      RmsNormBackward(Stream(), {x, weight, rstd, x, x, bf16_dweight}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dweight")));
  const Tensor dweight = MakeZeros(DType::kF32, Shape({kHidden}));
  EXPECT_THAT(
      RmsNormBackward(Stream(), {x, weight, rstd, x, x, dweight, dweight}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dx_amax")));
}

TEST(RmsNormTest, DoubleIsForTheCpu) {
  OCTET_TEST_STREAM(stream);
  if (stream.device().kind == DeviceKind::kCpu) GTEST_SKIP();
  const Tensor x = Constant(stream, DType::kF64, Shape({2, 4}), 1.0);
  const Tensor weight = Constant(stream, DType::kF64, Shape({4}), 1.0);
  const Tensor rstd = Constant(stream, DType::kF64, Shape({2}), 1.0);
  EXPECT_THAT(RmsNormForward(stream, {x, {}, weight, 1e-5, {}, x, rstd}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("f64")));
}

}  // namespace
}  // namespace octet::models
