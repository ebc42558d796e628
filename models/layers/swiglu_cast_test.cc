// SPDX-License-Identifier: Apache-2.0
#include "models/layers/swiglu_cast.h"

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
struct Swiglu {
  Swiglu(const Stream& stream, const Shape& shape, double planted = 0.0)
      : stream(stream), shape(shape) {
    const int64_t n = shape.num_elements();
    std::vector<double> ups = NormalValues(n, 2);
    if (planted != 0.0) ups[n / 3] = planted;
    gate = Bf16(NormalValues(n, 1, 2.0));
    up = Bf16(ups);
    dy = Bf16(NormalValues(n, 3, 1e-3));
    want_y = Empty();
    want_dgate = Empty();
    want_dup = Empty();
    EXPECT_THAT(SwigluForward(stream, {gate, up, want_y}), IsOk());
    EXPECT_THAT(SwigluBackward(stream, {gate, up, dy, want_dgate, want_dup}),
                IsOk());
    EXPECT_THAT(stream.Synchronize(), IsOk());
  }

  Tensor Bf16(const std::vector<double>& values) const {
    return ToDeviceOrDie(stream, MakeTensor(DType::kBf16, shape, values));
  }
  Tensor Empty() const { return Poisoned(stream, DType::kBf16, shape); }
  Tensor Host(const Tensor& tensor) const {
    return ToHostOrDie(stream, tensor);
  }

  Stream stream;
  Shape shape;
  Tensor gate, up, dy, want_y, want_dgate, want_dup;
};

// Twice, the second time over poison.
void ExpectForward(const Swiglu& swiglu, bool with_y, CastOutputs* outputs) {
  const Tensor y = swiglu.Empty();
  SwigluCastArgs args;
  args.swiglu = {swiglu.gate, swiglu.up, {}};
  if (with_y) args.swiglu.y = y;
  args.cast = outputs->cast();
  ASSERT_THAT(SwigluCast(swiglu.stream, args), IsOk());
  outputs->Poison();
  ASSERT_THAT(SwigluCast(swiglu.stream, args), IsOk());
  ASSERT_THAT(swiglu.stream.Synchronize(), IsOk());
  if (with_y) {
    EXPECT_THAT(swiglu.Host(y), BitwiseEq(swiglu.Host(swiglu.want_y)));
  }
  outputs->ExpectCastOf(swiglu.Host(swiglu.want_y));
}

void ExpectBackward(const Swiglu& swiglu, bool with_gradients,
                    CastOutputs* dgate_outputs, CastOutputs* dup_outputs) {
  const Tensor dgate = swiglu.Empty(), dup = swiglu.Empty();
  SwigluBackwardCastArgs args;
  args.swiglu = {swiglu.gate, swiglu.up, swiglu.dy, {}, {}};
  if (with_gradients) {
    args.swiglu.dgate = dgate;
    args.swiglu.dup = dup;
  }
  args.dgate = dgate_outputs->cast();
  args.dup = dup_outputs->cast();
  ASSERT_THAT(SwigluBackwardCast(swiglu.stream, args), IsOk());
  dgate_outputs->Poison();
  dup_outputs->Poison();
  ASSERT_THAT(SwigluBackwardCast(swiglu.stream, args), IsOk());
  ASSERT_THAT(swiglu.stream.Synchronize(), IsOk());
  if (with_gradients) {
    EXPECT_THAT(swiglu.Host(dgate), BitwiseEq(swiglu.Host(swiglu.want_dgate)));
    EXPECT_THAT(swiglu.Host(dup), BitwiseEq(swiglu.Host(swiglu.want_dup)));
  }
  dgate_outputs->ExpectCastOf(swiglu.Host(swiglu.want_dgate));
  dup_outputs->ExpectCastOf(swiglu.Host(swiglu.want_dup));
}

const CastCase kRowBlocks =
    CaseOf(Granularity::kBlock1x128, CastLayout::kRowMajor);
const CastCase kColumnBlocks =
    CaseOf(Granularity::kBlock128x1, CastLayout::kTransposed,
           ScaleRounding::kPowerOfTwo);

std::vector<CastCase> Cases() {
  return {KnownCase(CastLayout::kRowMajor),
          KnownCase(CastLayout::kTransposed, DType::kF8E5M2),
          KnownCase(CastLayout::kBoth),
          kRowBlocks,
          CaseOf(Granularity::kBlock1x128, CastLayout::kRowMajor,
                 ScaleRounding::kPowerOfTwo, DType::kF8E5M2),
          kColumnBlocks};
}

const Shape kShapes[] = {Shape({16, 8}), Shape({48, 136}), Shape({128, 128}),
                         Shape({272, 1032}), Shape({16, 14336})};

TEST(SwigluCastTest, ForwardIsTheCastOfY) {
  OCTET_TEST_STREAM(stream);
  for (const Shape& shape : kShapes) {
    const Swiglu swiglu(stream, shape);
    for (const CastCase& c : Cases()) {
      SCOPED_TRACE(absl::StrCat(shape.ToString(), " ", c.ToString()));
      CastOutputs outputs(stream, c);
      ExpectForward(swiglu, shape.rows() == 48, &outputs);
    }
    CastOutputs both(stream, kRowBlocks, kColumnBlocks);
    ExpectForward(swiglu, true, &both);
    CastOutputs swapped(stream, kColumnBlocks, kRowBlocks);
    ExpectForward(swiglu, false, &swapped);
  }
}

TEST(SwigluCastTest, BackwardIsTheCastOfBothGradients) {
  OCTET_TEST_STREAM(stream);
  for (const Shape& shape : kShapes) {
    const Swiglu swiglu(stream, shape);
    for (const CastCase& c : Cases()) {
      SCOPED_TRACE(absl::StrCat(shape.ToString(), " ", c.ToString()));
      CastOutputs dgate(stream, c), dup(stream, c);
      ExpectBackward(swiglu, shape.rows() == 48, &dgate, &dup);
    }
    CastOutputs dgate(stream, kRowBlocks, kColumnBlocks),
        dup(stream, kRowBlocks, kColumnBlocks);
    ExpectBackward(swiglu, true, &dgate, &dup);
  }
}

// Each its own: other formats, other layouts.
TEST(SwigluCastTest, TheGradientsMayDiffer) {
  OCTET_TEST_STREAM(stream);
  const Swiglu swiglu(stream, Shape({144, 264}));
  CastOutputs dgate(stream, KnownCase(CastLayout::kBoth, DType::kF8E5M2)),
      dup(stream, KnownCase(CastLayout::kTransposed));
  ExpectBackward(swiglu, false, &dgate, &dup);
  CastOutputs rows(stream, kRowBlocks), columns(stream, kColumnBlocks);
  ExpectBackward(swiglu, false, &rows, &columns);
  CastOutputs known(stream, KnownCase(CastLayout::kBoth)),
      local(stream, kRowBlocks);
  ExpectBackward(swiglu, false, &known, &local);
}

TEST(SwigluCastTest, NonFiniteValuesAreNotHidden) {
  OCTET_TEST_STREAM(stream);
  for (const double planted : kNonFinite) {
    const Swiglu swiglu(stream, Shape({144, 264}), planted);
    for (const CastCase& c : Cases()) {
      SCOPED_TRACE(absl::StrCat(planted, " ", c.ToString()));
      CastOutputs outputs(stream, c);
      ExpectForward(swiglu, false, &outputs);
      CastOutputs dgate(stream, c), dup(stream, c);
      ExpectBackward(swiglu, false, &dgate, &dup);
    }
  }
}

// As the model does it.
TEST(SwigluCastTest, GradientsMayReplaceTheInputs) {
  OCTET_TEST_STREAM(stream);
  const Swiglu swiglu(stream, Shape({144, 264}));
  CastOutputs dgate(stream, kRowBlocks, kColumnBlocks),
      dup(stream, kRowBlocks, kColumnBlocks);
  SwigluBackwardCastArgs args;
  args.swiglu = {swiglu.gate, swiglu.up, swiglu.dy, swiglu.gate, swiglu.up};
  args.dgate = dgate.cast();
  args.dup = dup.cast();
  ASSERT_THAT(SwigluBackwardCast(stream, args), IsOk());
  ASSERT_THAT(stream.Synchronize(), IsOk());
  EXPECT_THAT(swiglu.Host(swiglu.gate),
              BitwiseEq(swiglu.Host(swiglu.want_dgate)));
  EXPECT_THAT(swiglu.Host(swiglu.up), BitwiseEq(swiglu.Host(swiglu.want_dup)));
  dgate.ExpectCastOf(swiglu.Host(swiglu.want_dgate));
  dup.ExpectCastOf(swiglu.Host(swiglu.want_dup));
}

// Shapes and plans for which the operations run one after the other, with the
// same result.
TEST(SwigluCastTest, WhatIsNotFusedIsTheSame) {
  OCTET_TEST_STREAM(stream);
  for (const Shape& shape : {Shape({33, 7}), Shape({17, 64}), Shape({0, 64})}) {
    const Swiglu swiglu(stream, shape);
    for (const CastCase& c : Cases()) {
      SCOPED_TRACE(absl::StrCat(shape.ToString(), " ", c.ToString()));
      CastOutputs outputs(stream, c);
      ExpectForward(swiglu, false, &outputs);
      CastOutputs dgate(stream, c), dup(stream, c);
      ExpectBackward(swiglu, false, &dgate, &dup);
    }
  }
  const Swiglu swiglu(stream, Shape({48, 256}));
  CastOutputs pair(stream, CaseOf(Granularity::kRow, CastLayout::kRowMajor),
                   CaseOf(Granularity::kColumn, CastLayout::kTransposed));
  ExpectForward(swiglu, true, &pair);
}

TEST(SwigluCastTest, AnAmaxSparesASecondReading) {
  OCTET_TEST_STREAM(stream);
  const Swiglu swiglu(stream, Shape({48, 256}));
  const CastCase tensor = CaseOf(Granularity::kTensor, CastLayout::kBoth);
  CastOutputs y(stream, tensor), dgate(stream, tensor), dup(stream, tensor);
  const Tensor plain = swiglu.Empty(), other = swiglu.Empty();
  const Tensor amax = Poisoned(stream, DType::kF32, Shape({1, 1}));
  const Tensor second = Poisoned(stream, DType::kF32, Shape({1, 1}));
  ASSERT_THAT(
      SwigluCast(stream, {{swiglu.gate, swiglu.up, plain, amax}, y.cast()}),
      IsOk());
  ASSERT_THAT(stream.Synchronize(), IsOk());
  y.ExpectCastOf(swiglu.Host(swiglu.want_y));
  ASSERT_THAT(SwigluBackwardCast(stream, {{swiglu.gate, swiglu.up, swiglu.dy,
                                           plain, other, amax, second},
                                          dgate.cast(),
                                          dup.cast()}),
              IsOk());
  ASSERT_THAT(stream.Synchronize(), IsOk());
  dgate.ExpectCastOf(swiglu.Host(swiglu.want_dgate));
  dup.ExpectCastOf(swiglu.Host(swiglu.want_dup));
}

TEST(SwigluCastTest, SaysWhatIsFused) {
  OCTET_TEST_STREAM(stream);
  const bool cuda = stream.device().kind == DeviceKind::kCuda;
  const Swiglu swiglu(stream, Shape({48, 256}));
  for (const CastCase& c : Cases()) {
    CastOutputs outputs(stream, c), other(stream, c);
    SwigluCastArgs args;
    args.swiglu = {swiglu.gate, swiglu.up, {}};
    args.cast = outputs.cast();
    EXPECT_EQ(SwigluCastIsFused(args), cuda) << c.ToString();
    SwigluBackwardCastArgs backward;
    backward.swiglu = {swiglu.gate, swiglu.up, swiglu.dy, {}, {}};
    backward.dgate = outputs.cast();
    backward.dup = other.cast();
    EXPECT_EQ(SwigluBackwardCastIsFused(backward), cuda) << c.ToString();
  }
  CastOutputs dynamic(stream,
                      CaseOf(Granularity::kTensor, CastLayout::kRowMajor));
  SwigluCastArgs args;
  args.swiglu = {swiglu.gate, swiglu.up, {}};
  args.cast = dynamic.cast();
  EXPECT_FALSE(SwigluCastIsFused(args));
}

TEST(SwigluCastTest, RefusesWhatDoesNotFit) {
  OCTET_TEST_STREAM(stream);
  const Swiglu swiglu(stream, Shape({48, 256})), other(stream, Shape({16, 8}));
  CastOutputs outputs(stream, kRowBlocks), second(stream, kRowBlocks);
  SwigluCastArgs args;
  args.swiglu = {swiglu.gate, other.up, {}};
  args.cast = outputs.cast();
  EXPECT_THAT(SwigluCast(stream, args),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("up")));
  args.swiglu = {swiglu.gate, swiglu.up, other.gate};
  EXPECT_THAT(SwigluCast(stream, args),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("y is")));
  args.cast.first.plan.dtype = DType::kF8E8M0;
  EXPECT_THAT(SwigluCast(stream, args),
              StatusIs(absl::StatusCode::kInvalidArgument));
  SwigluBackwardCastArgs backward;
  backward.swiglu = {swiglu.gate, swiglu.up, other.dy, {}, {}};
  backward.dgate = outputs.cast();
  backward.dup = second.cast();
  EXPECT_THAT(SwigluBackwardCast(stream, backward),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dy")));
  backward.dup = outputs.cast();
  EXPECT_THAT(
      SwigluBackwardCast(stream, backward),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("same output")));
}

}  // namespace
}  // namespace octet::models
