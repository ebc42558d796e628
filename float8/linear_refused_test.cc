// SPDX-License-Identifier: Apache-2.0

// What the layer refuses before it writes a gradient.
#include <string>
#include <vector>

#include "float8/linear_fixture.h"
#include "gmock/gmock.h"
#include "testing/status_matchers.h"

namespace octet::float8 {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr Size kSize = {24, 40, 56};

class LinearRefusedTest : public LinearTest {
 protected:
  // A layer after its forward, whose gradients are all 7.
  void Forward(Layer* layer) {
    const Size& s = kSize;
    x_ = Random(DType::kF32, Shape({s.m, s.k}), 1);
    w_ = Random(DType::kF32, Shape({s.n, s.k}), 2);
    g_ = Random(DType::kF32, Shape({s.m, s.n}), 3);
    ASSERT_THAT(layer->Forward(x_, w_), IsOk());
    layer->dx = Filled(DType::kF32, Shape({s.m, s.k}), 7.0);
    layer->dw = Filled(DType::kF32, Shape({s.n, s.k}), 7.0);
  }
  void ExpectRefused(Layer* layer, const TensorView& g, const TensorView& dx,
                     const TensorView& dw, const std::string& text) {
    LinearGradients gradients;
    gradients.dx = dx;
    gradients.dw = dw;
    EXPECT_THAT(LinearBackward(stream_, layer->recipe, layer->x, layer->w,
                               {g, {}, &layer->state.grad_output},
                               &layer->g_casts, gradients),
                StatusIs(kInvalid, HasSubstr(text)));
    EXPECT_THAT(Values(layer->dx), Each(7.0)) << text;
    EXPECT_THAT(Values(layer->dw), Each(7.0)) << text;
  }

  Tensor x_, w_, g_;
};

TEST_F(LinearRefusedTest, GradientsStayAsTheyWere) {
  const Size& s = kSize;
  const Tensor tall = Random(DType::kF32, Shape({s.m + 1, s.n}), 4);
  const Tensor wide = Random(DType::kF32, Shape({s.m, s.n + 1}), 4);
  const Tensor turned = Filled(DType::kF32, Shape({s.k, s.n}), 7.0);
  const Tensor tall_dx = Filled(DType::kF32, Shape({s.m + 1, s.k}), 7.0);
  const Tensor f16 = Filled(DType::kF16, Shape({s.n, s.k}), 7.0);
  const Tensor f64 = Filled(DType::kF64, Shape({s.n, s.k}), 7.0);
  const TensorView no_memory(nullptr, DType::kF32, Shape({s.n, s.k}),
                             stream_.device());
  for (const Recipe& recipe : Recipes()) {
    SCOPED_TRACE(recipe.name);
    Layer layer(stream_, recipe, DType::kF32, s);
    Forward(&layer);
    ExpectRefused(&layer, g_, layer.dx, turned, "dw is f32 [56, 40]");
    ExpectRefused(&layer, g_, layer.dx, f16, "dw is f16");
    ExpectRefused(&layer, g_, layer.dx, f64, "f64");
    ExpectRefused(&layer, g_, layer.dx, no_memory, "dw has no memory");
    // dx fits this g, but x does not.
    ExpectRefused(&layer, tall, tall_dx, layer.dw, "x must be [25, k]");
    EXPECT_THAT(Values(tall_dx), Each(7.0));
    ExpectRefused(&layer, wide, layer.dx, layer.dw, "w must be [41, k]");
    ExpectRefused(&layer, TensorView(), layer.dx, layer.dw, "g is absent");
    LinearGradients gradients;
    gradients.dx = layer.dx;
    EXPECT_THAT(
        LinearBackward(stream_, recipe, layer.x, layer.w,
                       {g_, {}, &layer.state.grad_output}, nullptr, gradients),
        StatusIs(kInvalid, HasSubstr("casts of g is null")));
    // A layer that was refused goes on.
    EXPECT_THAT(layer.Backward(g_, kOverwrite, kOverwrite), IsOk());
    EXPECT_THAT(Values(layer.dw), ::testing::Contains(::testing::Ne(7.0)));
  }
}

TEST_F(LinearRefusedTest, ARecipeThatNoDeviceRuns) {
  Recipe recipe = *NamedRecipe("tensorwise");
  Layer layer(stream_, recipe, DType::kF32, kSize);
  Forward(&layer);
  layer.recipe.wgrad.b.is_float8 = false;
  ExpectRefused(&layer, g_, layer.dx, layer.dw, "wgrad.g is float8");
}

TEST_F(LinearRefusedTest, OtherDTypesBeforeTheForward) {
  const TensorView no_memory(nullptr, DType::kF32, Shape({24, 56}),
                             stream_.device());
  for (const Recipe& recipe : Recipes()) {
    SCOPED_TRACE(recipe.name);
    DelayedScale history(recipe.delayed);
    LinearOperand out;
    for (const DType dtype : {DType::kF16, DType::kF64}) {
      if (dtype == DType::kF64 && !UsesFloat8(recipe)) continue;
      const Tensor value = Filled(dtype, Shape({24, 56}), 1.0);
      const std::string text = " is " + std::string(Name(dtype)) + " [24, 56]";
      EXPECT_THAT(PrepareInput(stream_, recipe, {value, {}, &history}, &out),
                  StatusIs(kInvalid, HasSubstr("x" + text)));
      EXPECT_THAT(PrepareWeight(stream_, recipe, {value, {}, &history}, &out),
                  StatusIs(kInvalid, HasSubstr("w" + text)));
    }
    EXPECT_THAT(PrepareInput(stream_, recipe, {{}, {}, &history}, &out),
                StatusIs(kInvalid, HasSubstr("x is absent")));
    EXPECT_THAT(PrepareWeight(stream_, recipe, {no_memory, {}, &history}, &out),
                StatusIs(kInvalid, HasSubstr("w has no memory")));
    const Tensor good = Filled(DType::kF32, Shape({24, 56}), 1.0);
    EXPECT_THAT(PrepareInput(stream_, recipe, {good, {}, &history}, nullptr),
                StatusIs(kInvalid, HasSubstr("null")));
  }
}

}  // namespace
}  // namespace octet::float8
