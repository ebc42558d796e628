// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/test_device.h"
#include "train/clip.h"

namespace octet::train {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::octet::testing::ToDevice;
using ::octet::testing::ToHost;
using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// On the stream's device.
Tensor Make(const Stream& stream, const std::vector<double>& values,
            DType dtype = DType::kF32) {
  return ToDevice(stream, octet::testing::FromDoubles(
                              values, dtype,
                              Shape({static_cast<int64_t>(values.size())}))
                              .value())
      .value();
}

// Of elements from `skip` on, so that addresses are odd.
TensorView Rest(const Tensor& tensor, int64_t skip) {
  return TensorView(tensor.as<char>() + skip * SizeOf(tensor.dtype()),
                    tensor.dtype(), Shape({tensor.num_elements() - skip}),
                    tensor.view().device());
}

TEST(SumOfSquares, OverTensorsWithTails) {
  OCTET_TEST_STREAM(stream);
  std::vector<double> a(140001);
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(0.1 * i);
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const int64_t skip : {0, 1}) {
      const Tensor first = Make(stream, a, dtype);
      const Tensor second = Make(stream, {3, -4});
      const Tensor none = Make(stream, {});
      const Tensor third = Make(stream, {0.5, 0.5, 0.5}, DType::kBf16);
      double expected = 25.75;
      const Tensor host = ToHost(stream, first).value();
      const std::vector<double> rounded =
          octet::testing::ToDoubles(host).value();
      for (size_t i = skip; i < rounded.size(); ++i) {
        expected += rounded[i] * rounded[i];
      }
      OCTET_ASSERT_OK_AND_ASSIGN(
          const double sum,
          SumOfSquares(stream, {none, Rest(first, skip), second, none, third}));
      EXPECT_NEAR(sum, expected, 1e-12 * expected);
    }
  }
}

// More tensors than one launch takes; without a wait; twice the same bits.
TEST(SumOfSquares, OverManyTensorsStaysOnTheDevice) {
  OCTET_TEST_STREAM(stream);
  const Tensor values = Make(stream, std::vector<double>(5000, 0.1));
  std::vector<TensorView> tensors;
  int64_t count = 0;
  for (int64_t i = 0; i < 3001; ++i) {
    tensors.push_back(TensorView(values.as<float>(), DType::kF32, Shape({i}),
                                 stream.device()));
    count += i;
  }
  const Tensor out = Make(stream, {std::nan(""), std::nan("")}, DType::kF64);
  for (int64_t i = 0; i < 2; ++i) {
    ASSERT_THAT(SumOfSquares(stream, tensors,
                             TensorView(out.as<double>() + i, DType::kF64,
                                        Shape({1}), stream.device())),
                IsOk());
  }
  const std::vector<double> sums =
      octet::testing::ToDoubles(ToHost(stream, out).value()).value();
  const double square = double{0.1f} * double{0.1f};
  EXPECT_NEAR(sums[0] / (square * static_cast<double>(count)), 1, 1e-12);
  EXPECT_EQ(sums[0], sums[1]);
}

TEST(SumOfSquares, OfNothingIsZero) {
  OCTET_TEST_STREAM(stream);
  OCTET_ASSERT_OK_AND_ASSIGN(const double sum, SumOfSquares(stream, {}));
  EXPECT_EQ(sum, 0.0);
}

TEST(SumOfSquares, DoesNotOverflowInFloat) {
  OCTET_TEST_STREAM(stream);
  for (const double scale : {1e30, 1e-30}) {
    const Tensor a = Make(stream, std::vector<double>(4, scale));
    OCTET_ASSERT_OK_AND_ASSIGN(const double sum, SumOfSquares(stream, {a}));
    EXPECT_NEAR(std::sqrt(sum) / (2 * scale), 1, 1e-6);
  }
}

TEST(SumOfSquares, ShowsNonFinite) {
  OCTET_TEST_STREAM(stream);
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    std::vector<double> a(100, 1.0);
    a[99] = std::nan("");
    OCTET_ASSERT_OK_AND_ASSIGN(const double nan,
                               SumOfSquares(stream, {Make(stream, a, dtype)}));
    EXPECT_TRUE(std::isnan(nan));
    a[99] = -kInfinity;
    OCTET_ASSERT_OK_AND_ASSIGN(const double inf,
                               SumOfSquares(stream, {Make(stream, a, dtype)}));
    EXPECT_TRUE(std::isinf(inf));
  }
}

TEST(SumOfSquares, RefusesOtherTypes) {
  const Tensor f64 = Make(Stream(), {1, 2}, DType::kF64);
  EXPECT_THAT(
      SumOfSquares(Stream(), {f64}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f64 [2]")));
  EXPECT_THAT(SumOfSquares(Stream(), {}, f64),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("out is f64 [2]")));
}

}  // namespace
}  // namespace octet::train
