// SPDX-License-Identifier: Apache-2.0

#include "float8/linear.h"

#include <cmath>
#include <string>
#include <vector>

#include "float8/cast.h"
#include "float8/linear_fixture.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {
namespace {

using octet::testing::BitwiseEq;
using octet::testing::FromDoubles;
using octet::testing::IsNear;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(LinearTest, GradientsAccumulate) {
  const Size s = {24, 40, 56};
  const Tensor x = Random(DType::kF32, Shape({s.m, s.k}), 1);
  const Tensor w = Random(DType::kF32, Shape({s.n, s.k}), 2);
  const Tensor g = Random(DType::kF32, Shape({s.m, s.n}), 3);
  for (const Recipe& recipe : Recipes()) {
    SCOPED_TRACE(recipe.name);
    Layer layer(stream_, recipe, DType::kF32, s);
    ASSERT_THAT(layer.Forward(x, w), IsOk());
    ASSERT_THAT(layer.Backward(g, kOverwrite, kOverwrite), IsOk());
    const std::vector<double> dx = Values(layer.dx), dw = Values(layer.dw);
    ASSERT_THAT(layer.Backward(g, kAccumulate, kAccumulate), IsOk());
    const std::vector<double> dx_twice = Values(layer.dx),
                              dw_twice = Values(layer.dw);
    for (size_t i = 0; i < dx.size(); ++i) {
      EXPECT_NEAR(dx_twice[i], 2 * dx[i], 1e-4);
    }
    for (size_t i = 0; i < dw.size(); ++i) {
      EXPECT_NEAR(dw_twice[i], 2 * dw[i], 1e-4);
    }
  }
}

TEST_F(LinearTest, AbsentGradientsAreSkipped) {
  const Size s = {24, 40, 56};
  const Tensor x = Random(DType::kF32, Shape({s.m, s.k}), 1);
  const Tensor w = Random(DType::kF32, Shape({s.n, s.k}), 2);
  const Tensor g = Random(DType::kF32, Shape({s.m, s.n}), 3);
  for (const Recipe& recipe : Recipes()) {
    SCOPED_TRACE(recipe.name);
    Layer both(stream_, recipe, DType::kF32, s);
    ASSERT_THAT(both.Forward(x, w), IsOk());
    ASSERT_THAT(both.Backward(g, kOverwrite, kOverwrite), IsOk());
    Layer one(stream_, recipe, DType::kF32, s);
    ASSERT_THAT(one.Forward(x, w), IsOk());
    LinearGradients gradients;
    gradients.dw = one.dw;
    gradients.dw_mode = kOverwrite;
    ASSERT_THAT(LinearBackward(stream_, recipe, one.x, one.w,
                               {g, {}, &one.state.grad_output}, &one.g_casts,
                               gradients),
                IsOk());
    EXPECT_THAT(Host(one.dw).view(), BitwiseEq(Host(both.dw)));
    gradients = {};
    gradients.dx = one.dx;
    ASSERT_THAT(LinearBackward(stream_, recipe, one.x, one.w,
                               {g, {}, &one.state.grad_output}, &one.g_casts,
                               gradients),
                IsOk());
    EXPECT_THAT(Host(one.dx).view(), BitwiseEq(Host(both.dx)));
  }
}

// q, k and v read one input: it is cast once, their parts of dx add up.
TEST_F(LinearTest, LayersShareAnInput) {
  const Size s = {24, 40, 56};
  const Tensor x = Random(DType::kF32, Shape({s.m, s.k}), 1);
  const Tensor g = Random(DType::kF32, Shape({s.m, s.n}), 3);
  for (const Recipe& recipe : Recipes()) {
    SCOPED_TRACE(recipe.name);
    LinearOperand shared;
    DelayedScale history(recipe.delayed);
    ASSERT_THAT(PrepareInput(stream_, recipe, {x, {}, &history}, &shared),
                IsOk());
    Layer sum(stream_, recipe, DType::kF32, s);
    std::vector<double> want(s.m * s.k);
    for (int i = 0; i < 2; ++i) {
      const Tensor w = Random(DType::kF32, Shape({s.n, s.k}), 10 + i);
      Layer alone(stream_, recipe, DType::kF32, s);
      ASSERT_THAT(alone.Forward(x, w), IsOk());
      ASSERT_THAT(alone.Backward(g, kOverwrite, kOverwrite), IsOk());
      const std::vector<double> part = Values(alone.dx);
      for (size_t j = 0; j < want.size(); ++j) want[j] += part[j];

      LinearOperand weight;
      ASSERT_THAT(
          PrepareWeight(stream_, recipe, {w, {}, &alone.state.weight}, &weight),
          IsOk());
      ASSERT_THAT(
          LinearForward(stream_, recipe, shared, weight, TensorView(), sum.y),
          IsOk());
      EXPECT_THAT(Host(sum.y).view(), BitwiseEq(Host(alone.y)));
      LinearGradients gradients;
      gradients.dx = sum.dx;
      gradients.dx_mode = i == 0 ? kOverwrite : kAccumulate;
      gradients.dw = sum.dw;
      gradients.dw_mode = kOverwrite;
      DelayedScale fresh(recipe.delayed);
      ASSERT_THAT(LinearBackward(stream_, recipe, shared, weight,
                                 {g, {}, &fresh}, &sum.g_casts, gradients),
                  IsOk());
      EXPECT_THAT(Host(sum.dw).view(), BitwiseEq(Host(alone.dw)));
    }
    EXPECT_THAT(
        Host(sum.dx).view(),
        IsNear(*FromDoubles(want, DType::kF64, Shape({s.m, s.k})), 1e-5));
  }
}

void Make(const Stream& stream, const Tensor& of, const OperandCasts& casts) {
  for (const CastTarget* target : {&casts.first, &casts.second}) {
    if (target->out == nullptr) continue;
    CastOptions options;
    options.layout = target->layout;
    ASSERT_THAT(Cast(stream, of, target->plan, options, target->out), IsOk());
  }
}

// Whoever makes x or g casts it: the same as if the layer had.
TEST_F(LinearTest, CastsMayBeTheMakers) {
  const Size s = {32, 48, 64};
  const Tensor x = Random(DType::kBf16, Shape({s.m, s.k}), 1);
  const Tensor w = Random(DType::kBf16, Shape({s.n, s.k}), 2);
  const Tensor g = Random(DType::kBf16, Shape({s.m, s.n}), 3);
  for (const Recipe& recipe : Recipes()) {
    SCOPED_TRACE(recipe.name);
    Layer own(stream_, recipe, DType::kBf16, s);
    ASSERT_THAT(own.Forward(x, w), IsOk());
    ASSERT_THAT(own.Backward(g, kOverwrite, kOverwrite), IsOk());
    Layer made(stream_, recipe, DType::kBf16, s);
    // Of another recipe before: what is left of that is not taken for a form.
    const Recipe before = *NamedRecipe("rowwise");
    ASSERT_THAT(PrepareInput(stream_, before, {x}, &made.x), IsOk());
    const auto of_x = InputCasts(stream_, recipe, &made.x);
    const auto of_g = GradientCasts(stream_, recipe, &made.g_casts);
    const bool has_history = recipe.name == "tensorwise_delayed";
    ASSERT_EQ(of_x.has_value(), UsesFloat8(recipe) && !has_history);
    ASSERT_EQ(of_g.has_value(), of_x.has_value());
    if (!of_x.has_value()) continue;
    Make(stream_, x, *of_x);
    Make(stream_, g, *of_g);
    if (!recipe.wgrad.a.is_float8) {
      made.x.value = x;
      made.g_casts.value = g;
    } else {
      made.x.value = TensorView();
    }
    ASSERT_THAT(
        PrepareWeight(stream_, recipe, {w, {}, &made.state.weight}, &made.w),
        IsOk());
    ASSERT_THAT(LinearForward(stream_, recipe, made.x, made.w, {}, made.y),
                IsOk());
    LinearGradients gradients;
    gradients.dx = made.dx;
    gradients.dw = made.dw;
    gradients.dw_mode = kOverwrite;
    ASSERT_THAT(LinearBackward(stream_, recipe, made.x, made.w, made.g_casts,
                               gradients),
                IsOk());
    EXPECT_THAT(Host(made.y).view(), BitwiseEq(Host(own.y)));
    EXPECT_THAT(Host(made.dx).view(), BitwiseEq(Host(own.dx)));
    EXPECT_THAT(Host(made.dw).view(), BitwiseEq(Host(own.dw)));
  }
}

// What is kept for backward is float8, so the input itself may be overwritten.
TEST_F(LinearTest, BackwardNeedsNoInputWhereWgradIsFloat8) {
  const Size s = {24, 40, 56};
  const Tensor w = Random(DType::kF32, Shape({s.n, s.k}), 2);
  const Tensor g = Random(DType::kF32, Shape({s.m, s.n}), 3);
  for (const Recipe& recipe : Recipes()) {
    if (!recipe.wgrad.b.is_float8) continue;
    SCOPED_TRACE(recipe.name);
    Layer kept(stream_, recipe, DType::kF32, s);
    const Tensor x = Random(DType::kF32, Shape({s.m, s.k}), 1);
    ASSERT_THAT(kept.Forward(x, w), IsOk());
    ASSERT_THAT(kept.Backward(g, kOverwrite, kOverwrite), IsOk());
    Layer lost(stream_, recipe, DType::kF32, s);
    const Tensor gone = Random(DType::kF32, Shape({s.m, s.k}), 1);
    ASSERT_THAT(lost.Forward(gone, w), IsOk());
    ASSERT_THAT(FillZero(stream_, gone), IsOk());
    ASSERT_THAT(lost.Backward(g, kOverwrite, kOverwrite), IsOk());
    EXPECT_THAT(Host(lost.dw).view(), BitwiseEq(Host(kept.dw)));
    EXPECT_THAT(Values(kept.dw), ::testing::Contains(::testing::Ne(0.0)));
  }
}

// One cast where both multiplications want the same form, two where not.
TEST_F(LinearTest, FormsAreSharedWhereTheyAreEqual) {
  const Tensor x = Random(DType::kF32, Shape({24, 56}), 1);
  const auto forms = [&](const char* name) {
    const Recipe recipe = *NamedRecipe(name);
    LinearOperand in, weight;
    DelayedScale history;
    EXPECT_THAT(PrepareInput(stream_, recipe, {x, {}, &history}, &in), IsOk());
    EXPECT_THAT(PrepareWeight(stream_, recipe, {x, {}, &history}, &weight),
                IsOk());
    std::string made;
    for (const Quantized* q :
         {&in.first, &in.second, &weight.first, &weight.second}) {
      made += q->scale.num_elements() > 0 ? 'x' : '-';
    }
    return made;
  };
  EXPECT_EQ(forms("bf16"), "----");
  EXPECT_EQ(forms("tensorwise"), "x-x-");
  EXPECT_EQ(forms("tensorwise_delayed"), "x-x-");
  EXPECT_EQ(forms("rowwise"), "xxxx");
  EXPECT_EQ(forms("rowwise_gw_hp"), "x-xx");
  EXPECT_EQ(forms("blockwise"), "xxx-");
  if (stream_.device().kind == DeviceKind::kCpu) {
    EXPECT_EQ(forms("mxfp8"), "xxxx");
  }
}

// A gradient check needs f64, which the bf16 recipe leaves alone.
TEST_F(LinearTest, F64WithoutCasts) {
  if (stream_.device().kind != DeviceKind::kCpu) GTEST_SKIP() << "CPU only";
  const Size s = {3, 5, 4};
  const Tensor x = Random(DType::kF64, Shape({s.m, s.k}), 1);
  const Tensor w = Random(DType::kF64, Shape({s.n, s.k}), 2);
  const Tensor g = Random(DType::kF64, Shape({s.m, s.n}), 3);
  Layer layer(stream_, *NamedRecipe("bf16"), DType::kF64, s);
  ASSERT_THAT(layer.Forward(x, w), IsOk());
  ASSERT_THAT(layer.Backward(g, kOverwrite, kOverwrite), IsOk());
  const std::vector<double> xs = Values(x), ws = Values(w), gs = Values(g);
  const std::vector<double> y = Values(layer.y), dx = Values(layer.dx),
                            dw = Values(layer.dw);
  // <g, x w^T> is linear in x and in w: its gradients give it back.
  double loss = 0, by_x = 0, by_w = 0;
  for (size_t i = 0; i < y.size(); ++i) loss += gs[i] * y[i];
  for (size_t i = 0; i < dx.size(); ++i) by_x += dx[i] * xs[i];
  for (size_t i = 0; i < dw.size(); ++i) by_w += dw[i] * ws[i];
  EXPECT_NE(loss, 0.0);
  EXPECT_NEAR(by_x, loss, 1e-13 * std::abs(loss) + 1e-13);
  EXPECT_NEAR(by_w, loss, 1e-13 * std::abs(loss) + 1e-13);
}

// Case 28 (NVIDIA/TransformerEngine#1723, #24).
TEST_F(LinearTest, RecomputationUnderDelayedScalingChangesNothing) {
  const Size s = {24, 40, 56};
  const Tensor w = Random(DType::kF32, Shape({s.n, s.k}), 2);
  Layer once(stream_, *NamedRecipe("tensorwise_delayed"), DType::kF32, s);
  Layer twice(stream_, *NamedRecipe("tensorwise_delayed"), DType::kF32, s);
  for (int step = 0; step < 4; ++step) {
    const Tensor x = Random(DType::kF32, Shape({s.m, s.k}), 20 + step);
    const Tensor g = Random(DType::kF32, Shape({s.m, s.n}), 30 + step);
    ASSERT_THAT(once.Forward(x, w), IsOk());
    ASSERT_THAT(twice.Forward(x, w), IsOk());
    ASSERT_THAT(twice.Forward(x, w), IsOk());
    for (Layer* layer : {&once, &twice}) {
      ASSERT_THAT(layer->Backward(g, kOverwrite, kOverwrite), IsOk());
      ASSERT_THAT(layer->state.input.Advance(), IsOk());
      ASSERT_THAT(layer->state.weight.Advance(), IsOk());
      ASSERT_THAT(layer->state.grad_output.Advance(), IsOk());
    }
    EXPECT_THAT(Host(twice.y).view(), BitwiseEq(Host(once.y)));
    EXPECT_THAT(Host(twice.dx).view(), BitwiseEq(Host(once.dx)));
    EXPECT_THAT(Host(twice.dw).view(), BitwiseEq(Host(once.dw)));
    EXPECT_EQ(*twice.state.input.Save(), *once.state.input.Save());
    EXPECT_EQ((*twice.state.input.Save())[step + 1], 0.0f);
  }
}

// Case 25 (NVIDIA/TransformerEngine#567): weights replaced before a forward. A
// scale of the old ones would saturate.
TEST_F(LinearTest, ReplacedWeightsGetTheirOwnScale) {
  const Size s = {16, 16, 32};
  const Tensor x = Filled(DType::kF32, Shape({s.m, s.k}), 1.0);
  Layer layer(stream_, *NamedRecipe("tensorwise_delayed"), DType::kF32, s);
  ASSERT_THAT(layer.Forward(x, Filled(DType::kF32, Shape({s.n, s.k}), 0.02)),
              IsOk());
  EXPECT_FLOAT_EQ(Values(layer.w.first.scale)[0], 22400.0f);
  ASSERT_THAT(layer.state.weight.Advance(), IsOk());
  const Tensor loaded = Filled(DType::kF32, Shape({s.n, s.k}), 2.0);
  ASSERT_THAT(layer.Forward(x, loaded), IsOk());
  EXPECT_NEAR(Values(layer.y)[0], 32 * 0.02, 1e-5);  // stale

  layer.state.weight.Reset();
  ASSERT_THAT(layer.Forward(x, loaded), IsOk());
  EXPECT_EQ(Values(layer.w.first.scale)[0], 224.0);
  const Tensor codes = Host(layer.w.first.data);
  for (int64_t i = 0; i < codes.num_elements(); ++i) {
    ASSERT_EQ(codes.as<uint8_t>()[i], 0x7e) << i;
  }
  EXPECT_THAT(Values(layer.y),
              ::testing::Each(::testing::DoubleNear(64.0, 1e-4)));
}

TEST_F(LinearTest, Refuses) {
  const Size s = {24, 40, 56};
  const Tensor x = Random(DType::kF32, Shape({s.m, s.k}), 1);
  const Tensor w = Random(DType::kF32, Shape({s.n, s.k}), 2);
  Layer layer(stream_, *NamedRecipe("rowwise"), DType::kF32, s);
  ASSERT_THAT(layer.Forward(x, w), IsOk());
  // Prepared for one recipe, used under another.
  EXPECT_THAT(LinearForward(stream_, *NamedRecipe("tensorwise"), layer.x,
                            layer.w, TensorView(), layer.y),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("row"), HasSubstr("tensor"))));
  LinearOperand unprepared;
  unprepared.value = x;
  EXPECT_THAT(LinearForward(stream_, layer.recipe, unprepared, layer.w,
                            TensorView(), layer.y),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("x was not prepared")));
  EXPECT_THAT(
      PrepareInput(stream_, *NamedRecipe("tensorwise_delayed"), {x},
                   &unprepared),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no history")));
  const Tensor narrow = Random(DType::kF32, Shape({s.n, s.k - 1}), 2);
  EXPECT_THAT(layer.Forward(x, narrow),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("56"), HasSubstr("55"))));
}

}  // namespace
}  // namespace octet::float8
