// SPDX-License-Identifier: Apache-2.0
#include "models/layers/rope.h"

#include <cmath>
#include <limits>
#include <vector>

#include "float8/amax.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::models {
namespace {

using octet::testing::BitwiseEq;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using octet::testing::ToDevice;
using octet::testing::ToHost;
using ::testing::HasSubstr;

RopeOptions Options(int64_t head_dim) {
  RopeOptions options;
  options.head_dim = head_dim;
  return options;
}

double AmaxOf(const Tensor& host) {
  const Tensor amax = MakeZeros(DType::kF32, Shape({1, 1}));
  EXPECT_THAT(
      float8::Amax(Stream(),
                   host.view().Reshaped(Shape({1, host.num_elements()})),
                   float8::Granularity::kTensor, amax),
      IsOk());
  return Doubles(amax)[0];
}

TEST(RopeTest, FrequenciesFallGeometrically) {
  const std::vector<double> f = RopeFrequencies(Options(8));
  ASSERT_EQ(f.size(), 4u);
  EXPECT_DOUBLE_EQ(f[0], 1.0);
  EXPECT_NEAR(f[1], 0.1, 1e-15);
  EXPECT_NEAR(f[3], 0.001, 1e-15);
}

// Llama 3.1 8B: short waves are kept, long ones an eighth, and one between.
TEST(RopeTest, ScalesLongWavesOnly) {
  RopeOptions options = Options(128);
  options.theta = 500000.0;
  const std::vector<double> plain = RopeFrequencies(options);
  options.scaling = RopeScaling{8.0, 1.0, 4.0, 8192};
  const std::vector<double> scaled = RopeFrequencies(options);
  for (size_t i = 0; i < plain.size(); ++i) {
    const double wavelength = 2.0 * M_PI / plain[i];
    if (wavelength < 8192.0 / 4.0) {
      EXPECT_EQ(scaled[i], plain[i]) << i;
    } else if (wavelength > 8192.0) {
      EXPECT_NEAR(scaled[i] * 8.0 / plain[i], 1.0, 1e-15) << i;
    } else {
      const double smooth = (8192.0 / wavelength - 1.0) / 3.0;
      EXPECT_NEAR(scaled[i],
                  (1.0 - smooth) * plain[i] / 8.0 + smooth * plain[i], 1e-15);
      EXPECT_LT(scaled[i], plain[i]);
      EXPECT_GT(scaled[i], plain[i] / 8.0);
    }
  }
}

TEST(RopeTest, TurnsPairsHalfAHeadApart) {
  const Stream stream;
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor table,
                             RopeTable(stream, Options(4), 3, DType::kF64));
  const Tensor x =
      MakeTensor(DType::kF64, Shape({1, 2, 1, 4}), {1, 2, 3, 4, 1, 2, 3, 4});
  ASSERT_THAT(Rope(stream, table, RopeDirection::kForward, x), IsOk());
  const double c0 = std::cos(1.0), s0 = std::sin(1.0);
  const double c1 = std::cos(0.01), s1 = std::sin(0.01);
  const std::vector<double> expected = {
      1, 2, 3, 4, c0 - 3 * s0, 2 * c1 - 4 * s1, 3 * c0 + s0, 4 * c1 + 2 * s1};
  EXPECT_LT(ErrorOf(Doubles(x), expected), 1e-15);
}

// Heads of whole vectors and others, more and fewer of them than a thread or a
// block turns, and an odd address.
TEST(RopeTest, DevicesAgreeBitForBit) {
  OCTET_TEST_STREAM(stream);
  struct Case {
    int64_t heads, head_dim, skip;
  };
  for (const Case& c :
       {Case{32, 128, 0}, Case{8, 128, 0}, Case{3, 10, 0}, Case{5, 16, 0},
        Case{1, 64, 0}, Case{40, 256, 0}, Case{4, 128, 1}, Case{130, 64, 0}}) {
    for (const DType dtype : {DType::kF32, DType::kBf16}) {
      const Shape shape({2, 5, c.heads, c.head_dim});
      const int64_t n = shape.num_elements();
      const Tensor host_table =
          RopeTable(Stream(), Options(c.head_dim), 7, dtype).value();
      const Tensor table =
          RopeTable(stream, Options(c.head_dim), 7, dtype).value();
      const Tensor expected = MakeTensor(dtype, shape, NormalValues(n, 5));
      const Tensor memory =
          ToDevice(stream, MakeZeros(dtype, Shape({n + c.skip}))).value();
      const TensorView x(memory.as<char>() + c.skip * SizeOf(dtype), dtype,
                         shape, stream.device());
      ASSERT_THAT(Copy(stream, expected, x), IsOk());
      const Tensor amax =
          ToDevice(stream, MakeTensor(DType::kF32, Shape({1, 1}), {1e9}))
              .value();
      for (const RopeDirection direction :
           {RopeDirection::kForward, RopeDirection::kForward,
            RopeDirection::kBackward}) {
        ASSERT_THAT(Rope(Stream(), host_table, direction, expected), IsOk());
        ASSERT_THAT(Rope(stream, table, direction, x, amax), IsOk());
        EXPECT_THAT(ToHost(stream, x).value(), BitwiseEq(expected))
            << c.heads << " " << c.head_dim;
        EXPECT_EQ(Doubles(ToHost(stream, amax).value())[0], AmaxOf(expected))
            << c.heads << " " << c.head_dim;
      }
    }
  }
}

TEST(RopeTest, NothingToTurn) {
  OCTET_TEST_STREAM(stream);
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor table,
                             RopeTable(stream, Options(4), 3, DType::kF32));
  const Tensor x =
      ToDevice(stream, MakeZeros(DType::kF32, Shape({0, 3, 1, 4}))).value();
  const Tensor amax =
      ToDevice(stream, MakeTensor(DType::kF32, Shape({1, 1}), {7.0})).value();
  EXPECT_THAT(Rope(stream, table, RopeDirection::kForward, x, amax), IsOk());
  EXPECT_EQ(Doubles(ToHost(stream, amax).value())[0], 0.0);
}

// In the last row, by vectors and element by element.
TEST(RopeTest, AmaxKeepsNanAndInfinity) {
  OCTET_TEST_STREAM(stream);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const int64_t head_dim : {10, 64}) {
      const Shape shape({1, 37, 3, head_dim});
      const Tensor table =
          RopeTable(stream, Options(head_dim), 37, dtype).value();
      for (const double planted :
           {std::numeric_limits<double>::quiet_NaN(), -kInfinity}) {
        std::vector<double> values = NormalValues(shape.num_elements(), 5);
        values.back() = planted;
        const Tensor x =
            ToDevice(stream, MakeTensor(dtype, shape, values)).value();
        const Tensor amax =
            ToDevice(stream, MakeZeros(DType::kF32, Shape({1, 1}))).value();
        ASSERT_THAT(Rope(stream, table, RopeDirection::kBackward, x, amax),
                    IsOk());
        const double got = Doubles(ToHost(stream, amax).value())[0];
        if (std::isnan(planted)) {
          EXPECT_TRUE(std::isnan(got)) << head_dim;
        } else {
          EXPECT_EQ(got, kInfinity) << head_dim;
        }
      }
    }
  }
}

TEST(RopeTest, BackwardIsTheInverseAndEachSequenceStartsAtZero) {
  OCTET_TEST_STREAM(stream);
  const Shape shape({2, 19, 3, 10});
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBf16}) {
    if (dtype == DType::kF64 && stream.device().kind != DeviceKind::kCpu) {
      continue;
    }
    const double tolerance = dtype == DType::kF64   ? 1e-15
                             : dtype == DType::kF32 ? 1e-6
                                                    : 0x1p-7;
    OCTET_ASSERT_OK_AND_ASSIGN(const Tensor table,
                               RopeTable(stream, Options(10), 32, dtype));
    std::vector<double> values = NormalValues(19 * 30, 5);
    values.insert(values.end(), values.begin(), values.begin() + 19 * 30);
    const Tensor before = MakeTensor(dtype, shape, values);
    const Tensor x = ToDevice(stream, before).value();
    ASSERT_THAT(Rope(stream, table, RopeDirection::kForward, x), IsOk());
    const std::vector<double> turned = Doubles(ToHost(stream, x).value());
    EXPECT_GT(ErrorOf(turned, Doubles(before)), 0.1);
    EXPECT_EQ(std::vector<double>(turned.begin(), turned.begin() + 570),
              std::vector<double>(turned.begin() + 570, turned.end()));
    ASSERT_THAT(Rope(stream, table, RopeDirection::kBackward, x), IsOk());
    EXPECT_LT(ErrorOf(Doubles(ToHost(stream, x).value()), Doubles(before)),
              tolerance);
  }
}

TEST(RopeTest, RefusesOddHeadsAndShortTables) {
  const Stream stream;
  EXPECT_THAT(
      RopeTable(stream, Options(5), 3, DType::kF32),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("head_dim is 5")));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor table,
                             RopeTable(stream, Options(4), 3, DType::kF32));
  EXPECT_THAT(Rope(stream, table, RopeDirection::kForward,
                   MakeZeros(DType::kF32, Shape({1, 4, 1, 4}))),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Rope(stream, table, RopeDirection::kForward,
                   MakeZeros(DType::kF64, Shape({1, 3, 1, 4}))),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Rope(stream, table, RopeDirection::kForward,
                   MakeZeros(DType::kF32, Shape({1, 3, 1, 4})),
                   MakeZeros(DType::kF32, Shape({2}))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("amax")));
}

}  // namespace
}  // namespace octet::models
