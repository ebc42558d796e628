// SPDX-License-Identifier: Apache-2.0
#include "models/layers/swiglu.h"

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

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Inputs {
  explicit Inputs(int64_t n)
      : gate(NormalValues(n, 1, 2.0)),
        up(NormalValues(n, 2)),
        dy(NormalValues(n, 3)) {}

  Shape shape() const { return Shape({static_cast<int64_t>(gate.size())}); }

  std::vector<double> gate, up, dy;
};

Tensor On(const Stream& stream, DType dtype,
          const std::vector<double>& values) {
  absl::StatusOr<Tensor> tensor = octet::testing::ToDevice(
      stream,
      MakeTensor(dtype, Shape({static_cast<int64_t>(values.size())}), values));
  EXPECT_THAT(tensor, IsOk());
  return *std::move(tensor);
}

Tensor Amax(const Stream& stream) {
  absl::StatusOr<Tensor> tensor = octet::testing::ToDevice(
      stream, MakeTensor(DType::kF32, Shape({1, 1}), {kNan}));
  EXPECT_THAT(tensor, IsOk());
  return *std::move(tensor);
}

Tensor Host(const Stream& stream, const Tensor& tensor) {
  absl::StatusOr<Tensor> host = octet::testing::ToHost(stream, tensor);
  EXPECT_THAT(host, IsOk());
  return *std::move(host);
}

// On the host. Outputs start as NaN.
struct Result {
  Tensor y, amax, dgate, dup, dgate_amax, dup_amax;
};

Result RunBoth(const Stream& stream, const Inputs& in, DType dtype) {
  const std::vector<double> poison(in.gate.size(), kNan);
  const Tensor gate = On(stream, dtype, in.gate), up = On(stream, dtype, in.up),
               dy = On(stream, dtype, in.dy), y = On(stream, dtype, poison),
               dgate = On(stream, dtype, poison),
               dup = On(stream, dtype, poison);
  const Tensor amax = Amax(stream), dgate_amax = Amax(stream),
               dup_amax = Amax(stream);
  SwigluForwardArgs forward = {gate, up, y};
  SwigluBackwardArgs backward = {gate, up, dy, dgate, dup};
  if (dtype != DType::kF64) {
    forward.amax = amax;
    backward.dgate_amax = dgate_amax;
    backward.dup_amax = dup_amax;
  }
  EXPECT_THAT(SwigluForward(stream, forward), IsOk());
  EXPECT_THAT(SwigluBackward(stream, backward), IsOk());
  EXPECT_THAT(stream.Synchronize(), IsOk());
  return {Host(stream, y),   Host(stream, amax),       Host(stream, dgate),
          Host(stream, dup), Host(stream, dgate_amax), Host(stream, dup_amax)};
}

TEST(SwigluTest, MatchesTheFormulaForAnySize) {
  OCTET_TEST_STREAM(stream);
  for (const int64_t n : {1, 7, 33, 4096, 4100, 14336, 300001}) {
    const Inputs in(n);
    std::vector<double> expected(n);
    for (int64_t i = 0; i < n; ++i) {
      expected[i] = in.gate[i] / (1.0 + std::exp(-in.gate[i])) * in.up[i];
    }
    const Result exact = RunBoth(Stream(), in, DType::kF64);
    EXPECT_LT(ErrorOf(Doubles(exact.y), expected), 1e-15);
    for (const auto& [dtype, tolerance] :
         {std::make_pair(DType::kF32, 1e-6),
          std::make_pair(DType::kBf16, 0x1p-6)}) {
      const Result got = RunBoth(stream, in, dtype);
      EXPECT_LT(ErrorOf(Doubles(got.y), expected), tolerance) << n;
      EXPECT_LT(ErrorOf(Doubles(got.dgate), Doubles(exact.dgate)), tolerance)
          << n;
      EXPECT_LT(ErrorOf(Doubles(got.dup), Doubles(exact.dup)), tolerance) << n;
    }
  }
}

// Memory that starts between vectors, as a view into a larger tensor may.
TEST(SwigluTest, UnalignedMemory) {
  OCTET_TEST_STREAM(stream);
  const Inputs in(1001);
  const Result whole = RunBoth(stream, in, DType::kBf16);
  const Tensor gate = On(stream, DType::kBf16, in.gate),
               up = On(stream, DType::kBf16, in.up);
  const Shape rest({1000});
  const auto after_first = [&](const Tensor& tensor) {
    return TensorView(tensor.as<char>() + 2, DType::kBf16, rest,
                      stream.device());
  };
  ASSERT_THAT(SwigluForward(stream, {after_first(gate), after_first(up),
                                     after_first(gate)}),
              IsOk());
  ASSERT_THAT(stream.Synchronize(), IsOk());
  const std::vector<double> y = Doubles(Host(stream, gate)),
                            want = Doubles(whole.y);
  EXPECT_EQ(std::vector<double>(y.begin() + 1, y.end()),
            std::vector<double>(want.begin() + 1, want.end()));
}

// Few elements differ from the CPU's, and by their last bit.
TEST(SwigluTest, DevicesAgree) {
  OCTET_TEST_STREAM(stream);
  const Inputs in(1 << 16);
  const Result here = RunBoth(stream, in, DType::kBf16);
  const Result cpu = RunBoth(Stream(), in, DType::kBf16);
  for (const auto& [got, want] :
       {std::make_pair(Doubles(here.y), Doubles(cpu.y)),
        std::make_pair(Doubles(here.dup), Doubles(cpu.dup))}) {
    int64_t different = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_LE(std::abs(got[i] - want[i]), 0x1p-7 * std::abs(want[i]));
      different += got[i] != want[i];
    }
    EXPECT_LT(different, (1 << 16) / 500);
  }
}

TEST(SwigluTest, SameBitsEveryTime) {
  OCTET_TEST_STREAM(stream);
  const Inputs in(1 << 20);
  const Result first = RunBoth(stream, in, DType::kBf16);
  const Result second = RunBoth(stream, in, DType::kBf16);
  EXPECT_THAT(second.y, BitwiseEq(first.y));
  EXPECT_THAT(second.amax, BitwiseEq(first.amax));
  EXPECT_THAT(second.dgate, BitwiseEq(first.dgate));
  EXPECT_THAT(second.dup, BitwiseEq(first.dup));
  EXPECT_THAT(second.dgate_amax, BitwiseEq(first.dgate_amax));
}

TEST(SwigluTest, GradientsMatchDifferences) {
  Inputs in(201);
  const Result result = RunBoth(Stream(), in, DType::kF64);
  const auto loss = [&] {
    const std::vector<double> y = Doubles(RunBoth(Stream(), in, DType::kF64).y);
    double sum = 0.0;
    for (size_t i = 0; i < y.size(); ++i) sum += y[i] * in.dy[i];
    return sum;
  };
  EXPECT_TRUE(
      GradientMatches(loss, absl::MakeSpan(in.gate), Doubles(result.dgate)));
  EXPECT_TRUE(
      GradientMatches(loss, absl::MakeSpan(in.up), Doubles(result.dup)));
}

// As the model does it.
TEST(SwigluTest, GradientsMayReplaceTheInputs) {
  OCTET_TEST_STREAM(stream);
  for (const int64_t n : {67, 4096}) {
    const Inputs in(n);
    const Result apart = RunBoth(stream, in, DType::kBf16);
    const Tensor gate = On(stream, DType::kBf16, in.gate),
                 up = On(stream, DType::kBf16, in.up);
    ASSERT_THAT(
        SwigluBackward(stream,
                       {gate, up, On(stream, DType::kBf16, in.dy), gate, up}),
        IsOk());
    ASSERT_THAT(stream.Synchronize(), IsOk());
    EXPECT_THAT(Host(stream, gate), BitwiseEq(apart.dgate));
    EXPECT_THAT(Host(stream, up), BitwiseEq(apart.dup));
  }
}

TEST(SwigluTest, AmaxIsThatOfEachOutput) {
  OCTET_TEST_STREAM(stream);
  const auto expect_amax = [](const Tensor& amax, const Tensor& of) {
    const Tensor want = MakeZeros(DType::kF32, Shape({1, 1}));
    ASSERT_THAT(float8::Amax(Stream(), of, float8::Granularity::kTensor, want),
                IsOk());
    EXPECT_THAT(amax, BitwiseEq(want));
  };
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const int64_t n : {9, 100000}) {
      for (const double planted : {3.0, -1e20, kInfinity, -kInfinity, kNan}) {
        Inputs in(n);
        in.up[n - 1] = planted;
        in.gate[n - 1] = 2.0;
        const Result result = RunBoth(stream, in, dtype);
        expect_amax(result.amax, result.y);
        expect_amax(result.dgate_amax, result.dgate);
        expect_amax(result.dup_amax, result.dup);
        EXPECT_TRUE(std::isfinite(Doubles(result.dup_amax)[0]));
        const double amax = Doubles(result.amax)[0];
        EXPECT_EQ(std::isnan(amax), std::isnan(planted));
        EXPECT_EQ(std::isinf(amax), std::isinf(planted));
      }
    }
  }
}

TEST(SwigluTest, LargeGatesStayFiniteAndNanStaysNan) {
  OCTET_TEST_STREAM(stream);
  Inputs in(5);
  in.gate = {200.0, -200.0, 0.0, kNan, -kInfinity};
  in.up.assign(5, 2.0);
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    const Result result = RunBoth(stream, in, dtype);
    const std::vector<double> y = Doubles(result.y);
    EXPECT_EQ(y[0], 400.0);
    EXPECT_NEAR(y[1], 0.0, 1e-30);
    EXPECT_EQ(y[2], 0.0);
    EXPECT_TRUE(std::isnan(y[3]));
    EXPECT_FALSE(std::isfinite(y[4]));
    EXPECT_TRUE(std::isnan(Doubles(result.amax)[0]));
    for (const Tensor* gradient : {&result.dgate, &result.dup}) {
      const std::vector<double> g = Doubles(*gradient);
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isfinite(g[i])) << i;
      EXPECT_TRUE(std::isnan(g[3]));
      EXPECT_FALSE(std::isfinite(g[4]));
    }
  }
}

TEST(SwigluTest, NoElements) {
  OCTET_TEST_STREAM(stream);
  const Result result = RunBoth(stream, Inputs(0), DType::kBf16);
  EXPECT_EQ(Doubles(result.amax)[0], 0.0);
  EXPECT_EQ(Doubles(result.dgate_amax)[0], 0.0);
  EXPECT_EQ(Doubles(result.dup_amax)[0], 0.0);
}

TEST(SwigluTest, RefusesWhatDoesNotFit) {
  const Tensor x = MakeZeros(DType::kF32, Shape({3, 67}));
  const Tensor turned = MakeZeros(DType::kF32, Shape({67, 3}));
  const Tensor half = MakeZeros(DType::kF16, Shape({3, 67}));
  const Tensor exact = MakeZeros(DType::kF64, Shape({3, 67}));
  const Tensor amax = MakeZeros(DType::kF32, Shape({1, 1}));
  EXPECT_THAT(SwigluForward(Stream(), {x, turned, x}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(SwigluForward(Stream(), {half, half, half}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(SwigluForward(Stream(), {x, x, x, x}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("amax")));
  EXPECT_THAT(SwigluForward(Stream(), {exact, exact, exact, amax}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f64")));
  EXPECT_THAT(SwigluBackward(Stream(), {x, x, x, x, turned}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dup")));
}

}  // namespace
}  // namespace octet::models
