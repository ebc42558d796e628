// SPDX-License-Identifier: Apache-2.0
#include "models/layers/rms_norm_cast.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/output_cast_fixture.h"

namespace octet::models {
namespace {

using float8::CastLayout;
using float8::Granularity;
using float8::ScaleRounding;
using octet::testing::BitwiseEq;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::HasSubstr;

const double kNonFinite[] = {std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()};

// bf16 on the stream's device, and what the layer alone makes of it.
struct Norm {
  Norm(const Stream& stream, int64_t rows, int64_t hidden, double planted = 0.0)
      : stream(stream), shape({rows, hidden}), row({rows}) {
    std::vector<double> values = NormalValues(rows * hidden, 1);
    std::vector<double> weights = NormalValues(hidden, 3);
    if (planted != 0.0 && rows * hidden > 0) {
      values[(rows / 2) * hidden + hidden / 3] = planted;
      weights[hidden / 2] = planted;
    }
    residual = Bf16(shape, values);
    delta = Bf16(shape, NormalValues(rows * hidden, 2, 0.5));
    weight = Bf16(Shape({hidden}), weights);
    want_x = Poisoned(stream, DType::kBf16, shape);
    want_y = Poisoned(stream, DType::kBf16, shape);
    want_rstd = Poisoned(stream, DType::kF32, row);
    EXPECT_THAT(RmsNormForward(stream, {residual, delta, weight, 1e-5, want_x,
                                        want_y, want_rstd}),
                IsOk());
    EXPECT_THAT(stream.Synchronize(), IsOk());
  }

  Tensor Bf16(const Shape& s, const std::vector<double>& values) const {
    return ToDeviceOrDie(stream, MakeTensor(DType::kBf16, s, values));
  }

  Tensor Host(const Tensor& tensor) const {
    return ToHostOrDie(stream, tensor);
  }

  Stream stream;
  Shape shape, row;
  Tensor residual, delta, weight, want_x, want_y, want_rstd;
};

// Twice, the second time over poison.
void ExpectCast(const Norm& norm, bool with_y, CastOutputs* outputs) {
  const Stream& stream = norm.stream;
  const Tensor x = Poisoned(stream, DType::kBf16, norm.shape);
  const Tensor y = Poisoned(stream, DType::kBf16, norm.shape);
  const Tensor rstd = Poisoned(stream, DType::kF32, norm.row);
  RmsNormCastArgs args;
  args.norm = {norm.residual, norm.delta, norm.weight, 1e-5, x, {}, rstd};
  if (with_y) args.norm.y = y;
  args.cast = outputs->cast();
  ASSERT_THAT(RmsNormCast(stream, args), IsOk());
  outputs->Poison();
  ASSERT_THAT(RmsNormCast(stream, args), IsOk());
  ASSERT_THAT(stream.Synchronize(), IsOk());
  EXPECT_THAT(norm.Host(x), BitwiseEq(norm.Host(norm.want_x)));
  EXPECT_THAT(norm.Host(rstd), BitwiseEq(norm.Host(norm.want_rstd)));
  if (with_y) {
    EXPECT_THAT(norm.Host(y), BitwiseEq(norm.Host(norm.want_y)));
  }
  outputs->ExpectCastOf(norm.Host(norm.want_y));
}

std::vector<CastCase> RowCases() {
  return {KnownCase(CastLayout::kRowMajor),
          KnownCase(CastLayout::kRowMajor, DType::kF8E5M2),
          CaseOf(Granularity::kRow, CastLayout::kRowMajor),
          CaseOf(Granularity::kRow, CastLayout::kRowMajor,
                 ScaleRounding::kPowerOfTwo),
          CaseOf(Granularity::kBlock1x128, CastLayout::kRowMajor),
          CaseOf(Granularity::kBlock1x128, CastLayout::kRowMajor,
                 ScaleRounding::kPowerOfTwo, DType::kF8E5M2)};
}

std::vector<CastCase> TileCases() {
  return {KnownCase(CastLayout::kTransposed), KnownCase(CastLayout::kBoth),
          CaseOf(Granularity::kBlock128x1, CastLayout::kTransposed)};
}

TEST(RmsNormCastTest, RowsInOnePass) {
  OCTET_TEST_STREAM(stream);
  for (const Shape& shape :
       {Shape({3, 8}), Shape({5, 136}), Shape({40, 1024}), Shape({2, 4096}),
        Shape({9, 4104}), Shape({3, 14336}), Shape({1500, 264})}) {
    const Norm norm(stream, shape.rows(), shape.cols());
    for (const CastCase& c : RowCases()) {
      SCOPED_TRACE(absl::StrCat(shape.ToString(), " ", c.ToString()));
      CastOutputs outputs(stream, c);
      ExpectCast(norm, /*with_y=*/shape.rows() % 2 == 0, &outputs);
    }
  }
}

TEST(RmsNormCastTest, TilesWithoutY) {
  OCTET_TEST_STREAM(stream);
  for (const Shape& shape :
       {Shape({16, 8}), Shape({48, 136}), Shape({128, 128}), Shape({272, 1032}),
        Shape({16, 4096})}) {
    const Norm norm(stream, shape.rows(), shape.cols());
    for (const CastCase& c : TileCases()) {
      SCOPED_TRACE(absl::StrCat(shape.ToString(), " ", c.ToString()));
      CastOutputs outputs(stream, c);
      ExpectCast(norm, false, &outputs);
    }
    CastOutputs both(stream,
                     CaseOf(Granularity::kBlock1x128, CastLayout::kRowMajor,
                            ScaleRounding::kPowerOfTwo),
                     CaseOf(Granularity::kBlock128x1, CastLayout::kTransposed));
    ExpectCast(norm, false, &both);
  }
}

TEST(RmsNormCastTest, NonFiniteValuesAreNotHidden) {
  OCTET_TEST_STREAM(stream);
  for (const double planted : kNonFinite) {
    const Norm norm(stream, 32, 264, planted);
    for (std::vector<CastCase> cases : {RowCases(), TileCases()}) {
      for (const CastCase& c : cases) {
        SCOPED_TRACE(absl::StrCat(planted, " ", c.ToString()));
        CastOutputs outputs(stream, c);
        ExpectCast(norm, false, &outputs);
      }
    }
  }
}

// Shapes, plans and memory for which the two operations run one after the
// other, with the same result.
TEST(RmsNormCastTest, WhatIsNotFusedIsTheSame) {
  OCTET_TEST_STREAM(stream);
  for (const Shape& shape : {Shape({33, 7}), Shape({17, 64}), Shape({0, 64})}) {
    const Norm norm(stream, shape.rows(), shape.cols());
    for (std::vector<CastCase> cases : {RowCases(), TileCases()}) {
      for (const CastCase& c : cases) {
        SCOPED_TRACE(absl::StrCat(shape.ToString(), " ", c.ToString()));
        CastOutputs outputs(stream, c);
        ExpectCast(norm, false, &outputs);
      }
    }
  }
  const Norm norm(stream, 48, 256);
  CastOutputs tensor(stream, CaseOf(Granularity::kTensor, CastLayout::kBoth));
  ExpectCast(norm, false, &tensor);
  CastOutputs pair(stream, CaseOf(Granularity::kRow, CastLayout::kRowMajor),
                   CaseOf(Granularity::kColumn, CastLayout::kTransposed));
  ExpectCast(norm, true, &pair);
}

TEST(RmsNormCastTest, AnAmaxSparesASecondReading) {
  OCTET_TEST_STREAM(stream);
  const Norm norm(stream, 48, 256);
  CastOutputs outputs(stream,
                      CaseOf(Granularity::kTensor, CastLayout::kRowMajor));
  const Tensor x = Poisoned(stream, DType::kBf16, norm.shape);
  const Tensor y = Poisoned(stream, DType::kBf16, norm.shape);
  const Tensor rstd = Poisoned(stream, DType::kF32, norm.row);
  const Tensor amax = Poisoned(stream, DType::kF32, Shape({1, 1}));
  RmsNormCastArgs args;
  args.norm = {norm.residual, norm.delta, norm.weight, 1e-5, x, y, rstd, amax};
  args.cast = outputs.cast();
  ASSERT_THAT(RmsNormCast(stream, args), IsOk());
  ASSERT_THAT(stream.Synchronize(), IsOk());
  outputs.ExpectCastOf(norm.Host(norm.want_y));
}

TEST(RmsNormCastTest, WithoutDelta) {
  OCTET_TEST_STREAM(stream);
  const Norm norm(stream, 32, 256);
  const Tensor y = Poisoned(stream, DType::kBf16, norm.shape);
  const Tensor rstd = Poisoned(stream, DType::kF32, norm.row);
  ASSERT_THAT(RmsNormForward(
                  stream, {norm.residual, {}, norm.weight, 1e-5, {}, y, rstd}),
              IsOk());
  for (const CastCase& c : {RowCases()[2], TileCases()[1]}) {
    CastOutputs outputs(stream, c);
    RmsNormCastArgs args;
    args.norm = {norm.residual, {}, norm.weight, 1e-5, {}, {}, rstd};
    args.cast = outputs.cast();
    EXPECT_EQ(RmsNormCastIsFused(args),
              stream.device().kind == DeviceKind::kCuda);
    ASSERT_THAT(RmsNormCast(stream, args), IsOk());
    ASSERT_THAT(stream.Synchronize(), IsOk());
    outputs.ExpectCastOf(norm.Host(y));
  }
}

TEST(RmsNormCastTest, SaysWhatIsFused) {
  OCTET_TEST_STREAM(stream);
  const bool cuda = stream.device().kind == DeviceKind::kCuda;
  const Norm norm(stream, 32, 256);
  RmsNormCastArgs args;
  args.norm = {norm.residual, norm.delta, norm.weight,   1e-5,
               norm.want_x,   {},         norm.want_rstd};
  for (std::vector<CastCase> cases : {RowCases(), TileCases()}) {
    for (const CastCase& c : cases) {
      CastOutputs outputs(stream, c);
      args.cast = outputs.cast();
      EXPECT_EQ(RmsNormCastIsFused(args), cuda) << c.ToString();
    }
  }
  for (const CastCase& c :
       {CaseOf(Granularity::kTensor, CastLayout::kRowMajor),
        CaseOf(Granularity::kColumn, CastLayout::kTransposed),
        CaseOf(Granularity::kBlock1x128, CastLayout::kTransposed)}) {
    CastOutputs outputs(stream, c);
    args.cast = outputs.cast();
    EXPECT_FALSE(RmsNormCastIsFused(args)) << c.ToString();
  }
}

TEST(RmsNormCastTest, RefusesWhatDoesNotFit) {
  OCTET_TEST_STREAM(stream);
  const Norm norm(stream, 32, 256);
  RmsNormCastArgs good;
  CastOutputs outputs(stream, KnownCase(CastLayout::kRowMajor));
  good.norm = {norm.residual, norm.delta, norm.weight,   1e-5,
               norm.want_x,   {},         norm.want_rstd};
  good.cast = outputs.cast();
  ASSERT_THAT(RmsNormCast(stream, good), IsOk());

  RmsNormCastArgs args = good;
  args.cast.first.out = nullptr;
  EXPECT_THAT(RmsNormCast(stream, args),
              StatusIs(absl::StatusCode::kInvalidArgument));
  args = good;
  args.cast.first.plan.dtype = DType::kBf16;
  EXPECT_THAT(RmsNormCast(stream, args),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bf16")));
  args = good;
  args.cast.known_scale = norm.want_rstd;
  EXPECT_THAT(RmsNormCast(stream, args),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("known_scale is f32 [32]")));
  args = good;
  args.cast.seen_amax = norm.want_rstd;
  EXPECT_THAT(
      RmsNormCast(stream, args),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("seen_amax")));
  args = good;
  args.cast.known_scale = {};
  EXPECT_THAT(
      RmsNormCast(stream, args),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("seen_amax")));
  args = good;
  float8::Quantized second;
  args.cast.second.out = &second;
  EXPECT_THAT(
      RmsNormCast(stream, args),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("second")));
  args = good;
  args.norm.weight = norm.residual;
  EXPECT_THAT(
      RmsNormCast(stream, args),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("weight")));
}

}  // namespace
}  // namespace octet::models
