// SPDX-License-Identifier: Apache-2.0
#include "float8/cast.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "float8/cast_fixture.h"
#include "float8/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/random_tensor.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {
namespace {

using ::octet::testing::FromDoubles;
using ::octet::testing::IsNear;
using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::octet::testing::ToDoubles;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The definition, element by element.
void ExpectIsCastOf(const Tensor& in, const CastPlan& plan,
                    const Quantized& q) {
  const std::vector<double> x = ToDoubles(in).value();
  const int64_t rows = in.view().rows(), cols = in.view().cols();
  const Tile tile = TileOf(plan.granularity);
  const Shape shape = ScaleShape(plan.granularity, rows, cols);
  ASSERT_EQ(q.scale.shape(), shape);
  ASSERT_EQ(q.data.shape(), in.shape());
  ASSERT_EQ(q.data.dtype(), plan.dtype);
  const auto tile_of = [&](int64_t i) {
    return (tile.rows == 0 ? 0 : i / cols / tile.rows) * shape.cols() +
           (tile.cols == 0 ? 0 : i % cols / tile.cols);
  };
  std::vector<float> amax(shape.num_elements(), 0.0f);
  for (int64_t i = 0; i < rows * cols; ++i) {
    amax[tile_of(i)] =
        std::max(amax[tile_of(i)], static_cast<float>(std::abs(x[i])));
  }
  int wrong = 0;
  for (size_t i = 0; i < amax.size(); ++i) {
    wrong += Scales(q)[i] != ScaleFor(amax[i], plan.dtype, plan.rounding);
  }
  EXPECT_EQ(wrong, 0) << "scales";
  const std::vector<float> scales = Scales(q);
  const std::vector<int> bytes = Bytes(q);
  for (int64_t i = 0; i < rows * cols; ++i) {
    const float scaled = static_cast<float>(x[i]) * scales[tile_of(i)];
    wrong += bytes[i] != Encode(scaled, plan.dtype);
  }
  EXPECT_EQ(wrong, 0) << "bytes";
}

TEST(CastTest, EveryGranularityRoundingAndInput) {
  OCTET_TEST_STREAM(stream);
  for (DType dtype : kInputs) {
    for (const Shape& shape : {Shape({1, 1}), Shape({130, 259}),
                               Shape({2, 4500}), Shape({2, 3, 40})}) {
      testing::RandomOptions options;
      options.outliers = shape.num_elements() > 100 ? 2 : 0;
      OCTET_ASSERT_OK_AND_ASSIGN(
          const Tensor in, testing::RandomTensor(dtype, shape, 3, options));
      for (Granularity granularity : GranularitiesOn(stream)) {
        for (ScaleRounding rounding : RoundingsOn(stream)) {
          for (DType format : {DType::kF8E4M3, DType::kF8E5M2}) {
            SCOPED_TRACE(absl::StrCat(Name(dtype), " ", shape.ToString(), " ",
                                      Name(granularity), " ", Name(rounding),
                                      " ", Name(format)));
            const CastPlan plan = PlanOf(granularity, rounding, format);
            ExpectIsCastOf(in, plan, CastOf(stream, in, plan));
          }
        }
      }
    }
  }
}

// Case 13.
TEST(CastTest, EmptyMatrices) {
  OCTET_TEST_STREAM(stream);
  for (const Shape& shape : {Shape({0, 8}), Shape({8, 0})}) {
    for (Granularity granularity : GranularitiesOn(stream)) {
      const Quantized q =
          CastOf(stream, Make({}, shape, DType::kBf16), PlanOf(granularity));
      EXPECT_EQ(q.data.shape(), shape);
      EXPECT_EQ(q.scale.shape(),
                ScaleShape(granularity, shape.dim(0), shape.dim(1)));
      EXPECT_THAT(Scales(q), Each(447999985582080.0f)) << Name(granularity);
      EXPECT_TRUE(Dequantized(stream, q).empty());
    }
  }
}

// Case 16 (pytorch/ao#4714, pytorch/ao#3356).
TEST(CastTest, ZerosStayZeros) {
  OCTET_TEST_STREAM(stream);
  const Quantized tensor =
      CastOf(stream, Filled(0.0, {16, 16}), PlanOf(Granularity::kTensor));
  EXPECT_THAT(Bytes(tensor), Each(0));
  EXPECT_THAT(Scales(tensor), ElementsAre(447999985582080.0f));
  EXPECT_THAT(Dequantized(stream, tensor), Each(0.0));

  std::vector<double> rows(256, 1.0);
  for (int i = 3 * 16; i < 4 * 16; ++i) rows[i] = 0.0;
  const std::vector<int> by_row =
      Bytes(CastOf(stream, Make(rows, {16, 16}), PlanOf(Granularity::kRow)));
  for (int i = 0; i < 256; ++i) EXPECT_EQ(by_row[i], i / 16 == 3 ? 0 : 0x7e);

  std::vector<double> blocks(256 * 256, 1.0);
  for (int i = 0; i < 256 * 256; ++i) {
    if (i / 256 < 128 && i % 256 >= 128) blocks[i] = 0.0;
  }
  const Quantized by_block = CastOf(stream, Make(blocks, {256, 256}),
                                    PlanOf(Granularity::kBlock128x128));
  EXPECT_THAT(Scales(by_block),
              ElementsAre(448.0f, 447999985582080.0f, 448.0f, 448.0f));
  const std::vector<int> bytes = Bytes(by_block);
  int wrong = 0;
  for (int i = 0; i < 256 * 256; ++i) {
    wrong += bytes[i] != (blocks[i] == 0.0 ? 0 : 0x7e);
  }
  EXPECT_EQ(wrong, 0);
}

// Case 17 (NVIDIA/TransformerEngine#786).
TEST(CastTest, TinyAmaxKeepsTheScaleFinite) {
  OCTET_TEST_STREAM(stream);
  for (double value : {1e-36, 1e-40}) {
    for (ScaleRounding rounding : RoundingsOn(stream)) {
      const Quantized q = CastOf(stream, Filled(value, {4, 4}),
                                 PlanOf(Granularity::kTensor, rounding));
      EXPECT_TRUE(std::isfinite(Scales(q)[0]));
      for (int byte : Bytes(q)) EXPECT_NE(byte & 0x7f, 0x7f);
      for (double x : Dequantized(stream, q)) EXPECT_TRUE(std::isfinite(x));
    }
  }
}

// Case 18 (ROCm/TransformerEngine#737).
TEST(CastTest, SmallTensorsKeepTheirPrecision) {
  OCTET_TEST_STREAM(stream);
  for (Granularity granularity : GranularitiesOn(stream)) {
    const Quantized q =
        CastOf(stream, Filled(1e-9, {8, 8}), PlanOf(granularity));
    EXPECT_THAT(Bytes(q), Each(0x7e));
    EXPECT_FLOAT_EQ(Scales(q)[0], 4.48e11f);
    for (double x : Dequantized(stream, q)) EXPECT_NEAR(x, 1e-9, 6.25e-11);
  }
}

// Case 19 (pytorch/pytorch#136181).
TEST(CastTest, ScaleOfBf16IsF32) {
  OCTET_TEST_STREAM(stream);
  const Quantized q =
      CastOf(stream, Make({0.0, -1.5, 3.0, 0.01}, {1, 4}, DType::kBf16),
             PlanOf(Granularity::kTensor));
  EXPECT_THAT(Scales(q), ElementsAre(149.33333f));
  EXPECT_THAT(Bytes(q), ElementsAre(0x00, 0xf6, 0x7e, 0x3c));
  EXPECT_EQ(1.0f / Scales(q)[0], 0.0066964286f);
}

// Case 21: NaN reaches the scale and every byte that shares it.
TEST(CastTest, NanIsNeverHidden) {
  OCTET_TEST_STREAM(stream);
  for (int at = 0; at < 4; ++at) {
    std::vector<double> values = {1.0, 1.5, 2.0, 0.0};
    values[at] = kNan;
    const Quantized q =
        CastOf(stream, Make(values, {1, 4}), PlanOf(Granularity::kTensor));
    EXPECT_TRUE(std::isnan(Scales(q)[0]));
    EXPECT_THAT(Bytes(q), Each(0x7f));
    // With a scale that is known, only the element itself.
    const Tensor scale = Filled(224.0, {1, 1});
    const Quantized known = CastWithScaleOf(stream, Make(values, {1, 4}), scale,
                                            PlanOf(Granularity::kTensor));
    std::vector<int> want = {0x76, 0x7a, 0x7e, 0x00};
    want[at] = 0x7f;
    EXPECT_EQ(Bytes(known), want);
  }
}

TEST(CastTest, InfinityIsNeverHidden) {
  OCTET_TEST_STREAM(stream);
  for (ScaleRounding rounding : RoundingsOn(stream)) {
    const Quantized q = CastOf(stream, Make({1.0, -kInf, 2.0, -3.0}, {2, 2}),
                               PlanOf(Granularity::kRow, rounding));
    EXPECT_EQ(Scales(q)[0], 0.0f);
    EXPECT_EQ(Bytes(q)[0], 0x00);
    EXPECT_EQ(Bytes(q)[1], 0x7f);
    // The row after it is untouched; dequantised, no element hides it.
    EXPECT_GT(Scales(q)[1], 0.0f);
    const std::vector<double> x = Dequantized(stream, q);
    EXPECT_TRUE(std::isnan(x[0]));
    EXPECT_TRUE(std::isnan(x[1]));
    EXPECT_NEAR(x[3], -3.0, 0.2);
  }
}

// Case 31 (pytorch/ao#4091).
TEST(CastTest, OneBlockEqualsOneTensor) {
  OCTET_TEST_STREAM(stream);
  OCTET_ASSERT_OK_AND_ASSIGN(
      const Tensor in,
      testing::RandomTensor(DType::kBf16, Shape({128, 128}), 7));
  const Quantized tensor = CastOf(stream, in, PlanOf(Granularity::kTensor));
  const Quantized block =
      CastOf(stream, in, PlanOf(Granularity::kBlock128x128));
  EXPECT_EQ(Bytes(tensor), Bytes(block));
  EXPECT_EQ(Scales(tensor), Scales(block));
  const TensorView row = in.view().RowSlice(5, 1);
  EXPECT_EQ(Bytes(CastOf(stream, row, PlanOf(Granularity::kRow))),
            Bytes(CastOf(stream, row, PlanOf(Granularity::kTensor))));
}

// Case 32 (deepseek-ai/DeepGEMM#140).
TEST(CastTest, BlockScalesOfOddRows) {
  OCTET_TEST_STREAM(stream);
  for (int64_t m : {1, 3, 5, 33, 130}) {
    std::vector<double> values(m * 256);
    for (int64_t i = 0; i < m * 256; ++i) values[i] = 1.0 + i / 256;
    const Quantized q = CastOf(stream, Make(values, Shape({m, 256})),
                               PlanOf(Granularity::kBlock1x128));
    EXPECT_EQ(q.scale.shape(), Shape({m, 2}));
    const std::vector<double> x = Dequantized(stream, q);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(x[i], values[i], 0.0625 * values[i]);
    }
  }
}

TEST(CastTest, KnownScalesSaturateAndRecordAmax) {
  OCTET_TEST_STREAM(stream);
  // Case 24: an outlier under a scale from history.
  std::vector<double> values(300, 0.5);
  values[7] = 10.0;
  const Tensor in = Make(values, {3, 100});
  const Tensor scale = Filled(448.0, {3, 1});
  const Tensor amax = OnDevice(stream, Filled(-1.0, {3, 1}));
  CastOptions options;
  options.seen_amax = amax;
  const Quantized q =
      CastWithScaleOf(stream, in, scale, PlanOf(Granularity::kRow), options);
  EXPECT_EQ(Bytes(q)[7], 0x7e);
  EXPECT_EQ(Bytes(q)[8], 0x76);
  EXPECT_EQ(Dequantized(stream, q)[7], 1.0);
  EXPECT_THAT(ToDoubles(testing::ToHost(stream, amax).value()).value(),
              ElementsAre(10.0, 0.5, 0.5));
  EXPECT_THAT(Scales(q), Each(448.0f));
}

// A cast with the scales that another cast found gives the same bytes.
TEST(CastTest, KnownScalesAgreeWithDynamicOnes) {
  OCTET_TEST_STREAM(stream);
  OCTET_ASSERT_OK_AND_ASSIGN(
      const Tensor in,
      testing::RandomTensor(DType::kF16, Shape({70, 333}), 11));
  for (Granularity granularity : GranularitiesOn(stream)) {
    const Quantized first = CastOf(stream, in, PlanOf(granularity));
    const Quantized second =
        CastWithScaleOf(stream, in, first.scale, PlanOf(granularity));
    EXPECT_EQ(Bytes(first), Bytes(second)) << Name(granularity);
    EXPECT_EQ(Scales(first), Scales(second)) << Name(granularity);
  }
}

TEST(CastTest, DequantizesToEveryType) {
  OCTET_TEST_STREAM(stream);
  OCTET_ASSERT_OK_AND_ASSIGN(
      const Tensor in,
      testing::RandomTensor(DType::kF32, Shape({150, 140}), 13));
  for (Granularity granularity : GranularitiesOn(stream)) {
    for (DType format : {DType::kF8E4M3, DType::kF8E5M2}) {
      const Quantized q = CastOf(
          stream, in, PlanOf(granularity, ScaleRounding::kExact, format));
      for (DType dtype : kInputs) {
        const Tensor out = DequantizedTo(stream, q, dtype);
        // Half an ulp of 3 (or 2) mantissa bits, in norm.
        EXPECT_THAT(out.view(),
                    IsNear(in, format == DType::kF8E4M3 ? 0.04 : 0.08))
            << Name(granularity) << " " << Name(dtype);
      }
    }
  }
}

TEST(CastTest, OutputIsReusedWhenItFits) {
  const Tensor in = Filled(1.0, {8, 8});
  Quantized q;
  ASSERT_THAT(Cast(Stream(), in, PlanOf(Granularity::kRow), &q), IsOk());
  const void* data = q.data.view().data();
  ASSERT_THAT(Cast(Stream(), in, PlanOf(Granularity::kRow), &q), IsOk());
  EXPECT_EQ(q.data.view().data(), data);
  ASSERT_THAT(
      Cast(Stream(), Filled(2.0, {4, 8}), PlanOf(Granularity::kColumn), &q),
      IsOk());
  EXPECT_EQ(q.data.shape(), Shape({4, 8}));
  EXPECT_EQ(q.scale.shape(), Shape({1, 8}));
  EXPECT_EQ(q.plan, PlanOf(Granularity::kColumn));
}

TEST(CastTest, RefusesWhatDoesNotFit) {
  const Tensor in = Filled(1.0, {4, 6});
  Quantized q;
  CastPlan plan = PlanOf(Granularity::kRow);
  EXPECT_THAT(
      Cast(Stream(), Make({1.0}, {1}, DType::kF64), plan, &q),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f64 [1]")));
  plan.dtype = DType::kBf16;
  EXPECT_THAT(Cast(Stream(), in, plan, &q),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bf16")));
  plan.dtype = DType::kF8E8M0;
  EXPECT_THAT(Cast(Stream(), in, plan, &q),
              StatusIs(absl::StatusCode::kInvalidArgument));
  plan = PlanOf(Granularity::kRow);
  const TensorView elsewhere(in.view().data(), DType::kF32, Shape({4, 6}),
                             Device{DeviceKind::kCuda, 0});
  EXPECT_THAT(
      Cast(Stream(), elsewhere, plan, &q),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cuda:0")));
  EXPECT_THAT(
      CastWithScale(Stream(), in, Filled(1.0, {1, 4}), plan, {}, &q),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[1, 4]")));
  CastOptions options;
  const Tensor wrong_amax = Filled(1.0, {1, 1});
  options.seen_amax = wrong_amax;
  EXPECT_THAT(
      CastWithScale(Stream(), in, Filled(1.0, {4, 1}), plan, options, &q),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("seen_amax")));
  ASSERT_THAT(Cast(Stream(), in, plan, &q), IsOk());
  EXPECT_THAT(
      Dequantize(Stream(), q, Filled(1.0, {6, 4})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[6, 4]")));
  EXPECT_THAT(Dequantize(Stream(), Quantized(), in),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace octet::float8
