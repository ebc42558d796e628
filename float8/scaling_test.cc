// SPDX-License-Identifier: Apache-2.0
#include "float8/scaling.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "testing/goldens.h"
#include "testing/status_matchers.h"

namespace octet::float8 {
namespace {

using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

constexpr DType kE4M3 = DType::kF8E4M3;
constexpr DType kE5M2 = DType::kF8E5M2;
constexpr float kInf = std::numeric_limits<float>::infinity();

constexpr Granularity kAll[] = {
    Granularity::kTensor,     Granularity::kRow,
    Granularity::kColumn,     Granularity::kBlock1x128,
    Granularity::kBlock128x1, Granularity::kBlock128x128,
    Granularity::kBlock1x32,  Granularity::kBlock32x1};

uint32_t Bits(float x) {
  uint32_t u;
  std::memcpy(&u, &x, sizeof(u));
  return u;
}

float FromHex(absl::string_view hex) {
  uint32_t u = 0;
  EXPECT_TRUE(absl::SimpleHexAtoi(hex, &u)) << hex;
  float x;
  std::memcpy(&x, &u, sizeof(x));
  return x;
}

// Every column of every row that torchao wrote.
TEST(ScalingTest, MatchesTorchaoRowByRow) {
  std::ifstream file(testing::GoldenPath("torchao_scale_goldens.csv"));
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  ASSERT_EQ(line,
            "fp8,amax_f32_hex,scale_f32_hex,inv_scale_f32_hex,"
            "pow2_scale_f32_hex,note");
  int rows = 0;
  while (std::getline(file, line)) {
    SCOPED_TRACE(line);
    const std::vector<std::string> column = absl::StrSplit(line, ',');
    ASSERT_EQ(column.size(), 6u);
    const DType dtype = column[0] == "e5m2" ? kE5M2 : kE4M3;
    const float amax = FromHex(column[1]);
    const float scale = ScaleFor(amax, dtype, ScaleRounding::kExact);
    EXPECT_EQ(Bits(scale), Bits(FromHex(column[2])));
    const float inverse = 1.0f / scale;
    EXPECT_EQ(Bits(inverse), Bits(FromHex(column[3])));

    EXPECT_EQ(Bits(ScaleFor(amax, dtype, ScaleRounding::kPowerOfTwo)),
              Bits(FromHex(column[4])));
    ++rows;
  }
  EXPECT_EQ(rows, 240);
}

// Cases 16 to 19: zero, tiny, small and bf16's 3.0.
TEST(ScalingTest, KnownScales) {
  const auto exact = [](float amax, DType dtype) {
    return ScaleFor(amax, dtype, ScaleRounding::kExact);
  };
  EXPECT_EQ(Bits(exact(0.0f, kE4M3)), 0x57cbba10u);
  EXPECT_EQ(Bits(exact(0.0f, kE5M2)), 0x5b4bba10u);
  EXPECT_EQ(Bits(exact(1e-36f, kE4M3)), 0x57cbba10u);
  EXPECT_EQ(Bits(exact(1e-40f, kE4M3)), 0x57cbba10u);
  EXPECT_FLOAT_EQ(exact(1e-9f, kE4M3), 4.48e11f);
  EXPECT_EQ(Bits(exact(3.0f, kE4M3)), 0x43155555u);
  EXPECT_EQ(exact(1.0f, kE4M3), 448.0f);
  EXPECT_EQ(exact(0.001f, kE4M3), 447999.97f);
  EXPECT_EQ(exact(kInf, kE4M3), 0.0f);
  EXPECT_TRUE(std::isnan(exact(std::nanf(""), kE4M3)));
}

TEST(ScalingTest, PowerOfTwoIsFloored) {
  const auto pow2 = [](float amax, DType dtype) {
    return ScaleFor(amax, dtype, ScaleRounding::kPowerOfTwo);
  };
  EXPECT_EQ(pow2(0.0f, kE4M3), 0x1p48f);
  EXPECT_EQ(pow2(0.0f, kE5M2), 0x1p55f);
  EXPECT_EQ(pow2(1.0f, kE4M3), 256.0f);
  EXPECT_EQ(pow2(3.0f, kE4M3), 128.0f);
  EXPECT_EQ(pow2(1.75f, kE4M3), 256.0f);
  // A scale just below 256: the mantissa is dropped, never rounded up.
  EXPECT_EQ(pow2(std::nextafter(1.75f, 2.0f), kE4M3), 128.0f);
  EXPECT_EQ(pow2(kInf, kE4M3), 0.0f);
  EXPECT_TRUE(std::isnan(pow2(std::nanf(""), kE4M3)));
}

TEST(ScalingTest, E8m0IsTheSmallestPowerThatFits) {
  const auto e8m0 = [](float amax, DType dtype) {
    return ScaleFor(amax, dtype, ScaleRounding::kE8m0);
  };
  for (DType dtype : {kE4M3, kE5M2}) {
    const double max = dtype == kE4M3 ? 448.0 : 57344.0;
    for (float amax : {1e-30f, 0.3f, 1.0f, 1.75f, 1.7500001f, 1.9f, 2.0f,
                       448.0f, 449.0f, 57344.0f, 3e38f}) {
      const double scale = e8m0(amax, dtype);
      EXPECT_LE(amax * scale, max) << amax;
      EXPECT_GT(amax * scale * 2, max) << amax;
      int exponent;
      EXPECT_EQ(std::frexp(scale, &exponent), 0.5) << amax;
    }
  }
  EXPECT_EQ(e8m0(448.0f, kE4M3), 1.0f);
  EXPECT_EQ(e8m0(std::nextafter(448.0f, 1e9f), kE4M3), 0.5f);
  // Both ends of e8m0's range.
  EXPECT_EQ(e8m0(0.0f, kE4M3), 0x1p127f);
  EXPECT_EQ(e8m0(0x1p-149f, kE4M3), 0x1p127f);
  EXPECT_EQ(e8m0(kInf, kE4M3), 0.0f);
  EXPECT_TRUE(std::isnan(e8m0(std::nanf(""), kE4M3)));
}

// Nothing saturates: amax times its scale rounds to the largest value or below.
TEST(ScalingTest, AmaxFitsAfterScaling) {
  for (float amax = 1e-11f; amax < 1e37f; amax *= 1.0371f) {
    const float scaled = amax * ScaleFor(amax, kE4M3, ScaleRounding::kExact);
    EXPECT_LT(scaled, 464.0f) << amax;
    EXPECT_GT(scaled, 447.9f) << amax;
  }
}

TEST(ScalingTest, Shapes) {
  const auto shape = [](Granularity g, int64_t rows, int64_t cols) {
    return ScaleShape(g, rows, cols);
  };
  EXPECT_EQ(shape(Granularity::kTensor, 5, 7), Shape({1, 1}));
  EXPECT_EQ(shape(Granularity::kRow, 5, 7), Shape({5, 1}));
  EXPECT_EQ(shape(Granularity::kColumn, 5, 7), Shape({1, 7}));
  EXPECT_EQ(shape(Granularity::kBlock1x128, 5, 129), Shape({5, 2}));
  EXPECT_EQ(shape(Granularity::kBlock128x1, 257, 3), Shape({3, 3}));
  EXPECT_EQ(shape(Granularity::kBlock128x128, 128, 129), Shape({1, 2}));
  EXPECT_EQ(shape(Granularity::kBlock1x32, 2, 96), Shape({2, 3}));
  EXPECT_EQ(shape(Granularity::kBlock32x1, 33, 2), Shape({2, 2}));
  // Case 32: the logical layout has no padding.
  for (int64_t m : {1, 3, 5, 33, 130}) {
    EXPECT_EQ(shape(Granularity::kBlock1x128, m, 256), Shape({m, 2}));
  }
}

// Case 13 (NVIDIA/TransformerEngine#2848).
TEST(ScalingTest, ShapesOfEmptyMatrices) {
  EXPECT_EQ(ScaleShape(Granularity::kTensor, 0, 8), Shape({1, 1}));
  EXPECT_EQ(ScaleShape(Granularity::kRow, 0, 8), Shape({0, 1}));
  EXPECT_EQ(ScaleShape(Granularity::kRow, 8, 0), Shape({8, 1}));
  EXPECT_EQ(ScaleShape(Granularity::kColumn, 0, 8), Shape({1, 8}));
  EXPECT_EQ(ScaleShape(Granularity::kBlock128x128, 8, 0), Shape({1, 0}));
}

TEST(ScalingTest, NamesRoundTrip) {
  for (Granularity granularity : kAll) {
    OCTET_ASSERT_OK_AND_ASSIGN(const Granularity parsed,
                               ParseGranularity(Name(granularity)));
    EXPECT_EQ(parsed, granularity);
    const Tile tile = TileOf(granularity);
    EXPECT_EQ(ScaleShape(granularity, tile.rows, tile.cols).num_elements(), 1);
  }
  EXPECT_THAT(ParseGranularity("rows"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"rows\" is none of tensor, row, column")));
  EXPECT_EQ(Name(ScaleRounding::kExact), "exact");
  EXPECT_EQ(Name(ScaleRounding::kPowerOfTwo), "pow2");
  EXPECT_EQ(Name(ScaleRounding::kE8m0), "e8m0");
}

TEST(ScalingTest, ReciprocalsAreAsCublasLtReadsThem) {
  EXPECT_EQ(ReciprocalShape(Granularity::kTensor, 5, 7), Shape({1}));
  EXPECT_EQ(ReciprocalShape(Granularity::kRow, 5, 7), Shape({5}));
  EXPECT_EQ(ReciprocalShape(Granularity::kColumn, 5, 7), Shape({7}));
  EXPECT_EQ(ReciprocalShape(Granularity::kBlock1x128, 33, 256), Shape({2, 36}));
  EXPECT_EQ(ReciprocalShape(Granularity::kBlock128x1, 129, 16), Shape({2, 16}));
  // Five blocks along the sum: padded to eight.
  EXPECT_EQ(ReciprocalShape(Granularity::kBlock128x128, 130, 640),
            Shape({2, 8}));
  EXPECT_EQ(ReciprocalShape(Granularity::kBlock1x32, 5, 64), Shape({0}));
  EXPECT_EQ(ReciprocalShape(Granularity::kRow, 0, 7), Shape({0}));
}

}  // namespace
}  // namespace octet::float8
