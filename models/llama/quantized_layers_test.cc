// SPDX-License-Identifier: Apache-2.0
#include "models/llama/quantized_layers.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "float8/recipe.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::models {
namespace {

using float8::GradientMode;
using octet::testing::BitwiseEq;
using octet::testing::IsOk;

constexpr int64_t kIn = 256;
constexpr int64_t kOut = 128;

struct Case {
  const char* recipe;
  int64_t tokens;
  const char* filter;  // keeps the projections it names in high precision
};

// Two readers of one input.
struct Pair {
  Pair(const Stream& stream, const float8::Recipe& recipe)
      : stream(stream),
        gate(recipe, "mlp.gate_proj", kOut, kIn),
        up(recipe, "mlp.up_proj", kOut, kIn) {}

  OutputReaders readers() { return {projections, &input, &casts}; }

  Stream stream;
  Projection gate, up;
  Tensor gate_weight, up_weight;
  std::vector<Projection*> projections = {&gate, &up};
  SharedInput input;
  SharedCasts casts;
};

class QuantizedLayersTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    OCTET_TEST_STREAM(stream);
    stream_ = stream;
    recipe_ = *float8::NamedRecipe(GetParam().recipe);
    recipe_.filter = {GetParam().filter};
  }

  Tensor On(DType dtype, const Shape& shape,
            const std::vector<double>& values) const {
    return *octet::testing::ToDevice(stream_, MakeTensor(dtype, shape, values));
  }
  Tensor Random(const Shape& shape, uint64_t seed, double scale = 1.0) const {
    return On(DType::kBf16, shape,
              NormalValues(shape.num_elements(), seed, scale));
  }
  // Memory that is to be written: nothing that a result could be.
  Tensor Fresh(DType dtype, const Shape& shape) const {
    return On(dtype, shape, std::vector<double>(shape.num_elements(), 1e9));
  }
  Tensor Host(const TensorView& view) const {
    EXPECT_THAT(stream_.Synchronize(), IsOk());
    return *octet::testing::ToHost(stream_, view);
  }
  void ExpectSame(const TensorView& got, const TensorView& want,
                  const char* what) const {
    const Tensor expected = Host(want);
    EXPECT_THAT(Host(got), BitwiseEq(expected)) << what;
  }

  void Prepare(Pair* pair) const {
    pair->gate_weight = Random(Shape({kOut, kIn}), 91, 0.1);
    pair->up_weight = Random(Shape({kOut, kIn}), 92, 0.1);
    ASSERT_THAT(pair->gate.Prepare(stream_, pair->gate_weight, {}, 1), IsOk());
    ASSERT_THAT(pair->up.Prepare(stream_, pair->up_weight, {}, 1), IsOk());
  }

  // Everything that comes of the pair's input, and of the gradients if given.
  std::vector<Tensor> Use(Pair* pair, const GateGradients& gradients) const {
    const int64_t tokens = GetParam().tokens;
    std::vector<Tensor> results;
    for (Projection* reader : pair->projections) {
      results.push_back(Fresh(DType::kBf16, Shape({tokens, kOut})));
      EXPECT_THAT(pair->input.Forward(stream_, *reader, results.back()),
                  IsOk());
    }
    pair->input.EndForward(&pair->casts);
    Tensor dx = Fresh(DType::kBf16, Shape({tokens, kIn}));
    for (Projection* reader : pair->projections) {
      const bool first = reader == &pair->gate;
      results.push_back(Fresh(DType::kF32, Shape({kOut, kIn})));
      EXPECT_THAT(
          pair->input.Backward(
              stream_, *reader, first ? gradients.gate : gradients.up, dx,
              first ? GradientMode::kOverwrite : GradientMode::kAccumulate,
              {results.back(), GradientMode::kOverwrite}, &pair->casts),
          IsOk());
    }
    results.push_back(std::move(dx));
    return results;
  }

  void ExpectSameUse(Pair* got, const GateGradients& got_gradients, Pair* want,
                     const GateGradients& want_gradients) const {
    const std::vector<Tensor> a = Use(got, got_gradients);
    const std::vector<Tensor> b = Use(want, want_gradients);
    const char* const names[] = {"gate", "up", "gate's dw", "up's dw", "dx"};
    for (size_t i = 0; i < a.size(); ++i) ExpectSame(a[i], b[i], names[i]);
  }

  // What is fused leaves the memory of its output as it was.
  bool Fuses() const {
    return stream_.device().kind == DeviceKind::kCuda &&
           recipe_.name == "blockwise" && GetParam().tokens % 16 == 0 &&
           recipe_.filter[0] == std::string("lm_head");
  }
  void ExpectPlain(const Tensor& got, const Tensor& want) const {
    if (Fuses()) {
      EXPECT_EQ(Doubles(Host(got)),
                Doubles(Host(Fresh(DType::kBf16, got.shape()))));
    } else {
      ExpectSame(got, want, "the output itself");
    }
  }

  Stream stream_;
  float8::Recipe recipe_;
};

TEST_P(QuantizedLayersTest, TheNormIsWhatItsReadersWouldCast) {
  const Shape shape({GetParam().tokens, kIn});
  const Tensor residual = Random(shape, 1), delta = Random(shape, 2);
  const Tensor weight = Random(Shape({kIn}), 3);
  const Tensor g = Random(Shape({GetParam().tokens, kOut}), 4, 1e-3);
  const GateGradients gradients = {{g}, {g}};
  Pair made(stream_, recipe_), cast(stream_, recipe_);
  Prepare(&made);
  Prepare(&cast);
  // Twice: the second time, memory is used again.
  for (int i = 0; i < 2; ++i) {
    const Tensor x = Fresh(DType::kBf16, shape);
    const Tensor y = Fresh(DType::kBf16, shape);
    const Tensor rstd = Fresh(DType::kF32, Shape({shape.rows()}));
    const Tensor amax = Fresh(DType::kF32, Shape({1, 1}));
    const Tensor want_x = Fresh(DType::kBf16, shape);
    const Tensor want_y = Fresh(DType::kBf16, shape);
    const Tensor want_rstd = Fresh(DType::kF32, Shape({shape.rows()}));
    ASSERT_THAT(
        NormaliseFor(stream_, {residual, delta, weight, 1e-5, x, y, rstd, amax},
                     made.readers()),
        IsOk());
    ASSERT_THAT(RmsNormForward(stream_, {residual, delta, weight, 1e-5, want_x,
                                         want_y, want_rstd}),
                IsOk());
    ASSERT_THAT(
        cast.input.Prepare(stream_, want_y, {}, cast.projections, &cast.casts),
        IsOk());
    ExpectSame(x, want_x, "x");
    ExpectSame(rstd, want_rstd, "rstd");
    ExpectPlain(y, want_y);
    ExpectSameUse(&made, gradients, &cast, gradients);
  }
}

TEST_P(QuantizedLayersTest, TheActivationIsWhatItsReadersWouldCast) {
  const Shape shape({GetParam().tokens, kIn});
  std::vector<double> ups = NormalValues(shape.num_elements(), 2);
  ups[ups.size() / 2] = std::numeric_limits<double>::infinity();
  for (const Tensor& up : {Random(shape, 2), On(DType::kBf16, shape, ups)}) {
    const Tensor gate = Random(shape, 1, 2.0);
    const Tensor g = Random(Shape({GetParam().tokens, kOut}), 4, 1e-3);
    const GateGradients gradients = {{g}, {g}};
    Pair made(stream_, recipe_), cast(stream_, recipe_);
    Prepare(&made);
    Prepare(&cast);
    const Tensor y = Fresh(DType::kBf16, shape);
    const Tensor want_y = Fresh(DType::kBf16, shape);
    const Tensor amax = Fresh(DType::kF32, Shape({1, 1}));
    ASSERT_THAT(ActivateFor(stream_, {gate, up, y, amax}, made.readers()),
                IsOk());
    ASSERT_THAT(SwigluForward(stream_, {gate, up, want_y}), IsOk());
    ASSERT_THAT(
        cast.input.Prepare(stream_, want_y, {}, cast.projections, &cast.casts),
        IsOk());
    ExpectPlain(y, want_y);
    ExpectSameUse(&made, gradients, &cast, gradients);
  }
}

TEST_P(QuantizedLayersTest, TheGatesGradientsAreWhatTheirLayersWouldCast) {
  const Shape shape({GetParam().tokens, kOut});
  const Tensor gate = Random(shape, 1, 2.0), up = Random(shape, 2);
  const Tensor dy = Random(shape, 3, 1e-3);
  const Tensor x = Random(Shape({GetParam().tokens, kIn}), 4);
  Pair made(stream_, recipe_), cast(stream_, recipe_);
  for (Pair* pair : {&made, &cast}) {
    Prepare(pair);
    ASSERT_THAT(
        pair->input.Prepare(stream_, x, {}, pair->projections, &pair->casts),
        IsOk());
  }
  const Tensor dgate = Fresh(DType::kBf16, shape);
  const Tensor dup = Fresh(DType::kBf16, shape);
  const Tensor dgate_amax = Fresh(DType::kF32, Shape({1, 1}));
  const Tensor dup_amax = Fresh(DType::kF32, Shape({1, 1}));
  const Tensor want_dgate = Fresh(DType::kBf16, shape);
  const Tensor want_dup = Fresh(DType::kBf16, shape);
  GateGradients gradients;
  ASSERT_THAT(ActivateBackwardFor(
                  stream_, {gate, up, dy, dgate, dup, dgate_amax, dup_amax},
                  made.gate, made.up, &made.casts, &gradients),
              IsOk());
  ASSERT_THAT(SwigluBackward(stream_, {gate, up, dy, want_dgate, want_dup}),
              IsOk());
  ExpectPlain(dgate, want_dgate);
  ExpectPlain(dup, want_dup);
  ExpectSameUse(&made, gradients, &cast, {{want_dgate}, {want_dup}});
}

INSTANTIATE_TEST_SUITE_P(
    Recipes, QuantizedLayersTest,
    ::testing::Values(
        Case{"bf16", 48, "lm_head"}, Case{"tensorwise", 48, "lm_head"},
        Case{"tensorwise", 40, "gate_proj"},
        Case{"tensorwise_delayed", 48, "lm_head"},
        Case{"rowwise", 48, "lm_head"}, Case{"rowwise_gw_hp", 48, "lm_head"},
        Case{"rowwise_gw_hp", 40, "up_proj"}, Case{"blockwise", 48, "lm_head"},
        Case{"blockwise", 272, "lm_head"}, Case{"blockwise", 40, "lm_head"},
        Case{"blockwise", 48, "gate_proj"}, Case{"blockwise", 48, "up_proj"}),
    [](const auto& info) {
      return std::string(info.param.recipe) + "_" +
             std::to_string(info.param.tokens) + "_" + info.param.filter;
    });

}  // namespace
}  // namespace octet::models
