// SPDX-License-Identifier: Apache-2.0

// The model under the float8 recipes.
#include <string>
#include <vector>

#include "float8/recipe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "models/llama/model.h"
#include "models/llama/test_model.h"
#include "testing/status_matchers.h"

namespace octet::models {
namespace {

using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

class RecipeTest : public ::testing::TestWithParam<std::string> {};

// e4m3 rounds by up to 1/16, 0.026 in the mean square, e5m2 by twice that; some
// fifteen such roundings one after the other reach the first block.
TEST_P(RecipeTest, GradientsAreNearThoseOfBf16) {
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel exact,
                             MakeTestModel(TestConfig(), "bf16", DType::kBf16));
  OCTET_ASSERT_OK_AND_ASSIGN(const double expected, exact.Run());
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel test, MakeTestModel(TestConfig(), GetParam(), DType::kBf16));
  OCTET_ASSERT_OK_AND_ASSIGN(const double loss, test.Run());
  EXPECT_NEAR(loss / expected, 1.0, 0.01);
  const double error = ErrorOf(test.Gradients(), exact.Gradients());
  EXPECT_LT(error, 0.15);
  EXPECT_GT(error, GetParam() == "bf16" ? -1.0 : 1e-4);
}

TEST_P(RecipeTest, LossFallsOnOneBatch) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel test, MakeTestModel(TestConfig(), GetParam(), DType::kBf16));
  OCTET_ASSERT_OK_AND_ASSIGN(const double first, test.Run(1.0 / 47.0));
  double last = first;
  for (int step = 0; step < 60; ++step) {
    ASSERT_THAT(test.Descend(0.5), IsOk());
    ASSERT_THAT(test.model->AdvanceScaling(), IsOk());
    OCTET_ASSERT_OK_AND_ASSIGN(last, test.Run(1.0 / 47.0));
  }
  EXPECT_LT(last, 0.5 * first);
}

INSTANTIATE_TEST_SUITE_P(Recipes, RecipeTest,
                         ::testing::ValuesIn(float8::RecipeNames()));

// Case 51 (pytorch/torchtitan#1063, #1391).
TEST(LlamaFloat8Test, EveryLayerIsListedWithTheReason) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel test, MakeTestModel(TestConfig(), "tensorwise", DType::kBf16));
  OCTET_ASSERT_OK_AND_ASSIGN(const std::string table,
                             test.model->DescribeLayers());
  EXPECT_THAT(table, HasSubstr("model.layers.{0-1}.mlp.down_proj"));
  EXPECT_THAT(table, HasSubstr("lm_head"));
}

// Case 51 (huggingface/accelerate#1188).
TEST(LlamaFloat8Test, AFilterWordThatMatchesNothingIsAnError) {
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel test,
                             MakeTestModel(TestConfig(), "bf16", DType::kBf16));
  LlamaOptions options;
  OCTET_ASSERT_OK_AND_ASSIGN(options.recipe, float8::NamedRecipe("tensorwise"));
  options.recipe.filter = {"lm_head", "wq"};
  EXPECT_THAT(Llama::Create(Stream(), TestConfig(), options, test.store.get()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("wq")));
}

// A filter that keeps some readers of a shared input, and one that keeps none.
TEST(LlamaFloat8Test, FiltersSplitLayersThatShareAnInput) {
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel exact,
                             MakeTestModel(TestConfig(), "bf16", DType::kF32));
  ASSERT_THAT(exact.Run(), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel test,
                             MakeTestModel(TestConfig(), "bf16", DType::kF32));
  const auto error_with = [&](const std::vector<std::string>& filter) {
    LlamaOptions options;
    options.recipe = *float8::NamedRecipe("tensorwise");
    options.recipe.filter = filter;
    options.compute_dtype = DType::kF32;
    auto model =
        Llama::Create(Stream(), TestConfig(), options, test.store.get());
    EXPECT_THAT(model, IsOk());
    EXPECT_THAT(test.store->ZeroGradients(), IsOk());
    EXPECT_THAT((*model)->ForwardBackward(test.tokens, test.targets, 1.0),
                IsOk());
    return ErrorOf(test.Gradients(), exact.Gradients());
  };
  EXPECT_EQ(error_with({"proj", "lm_head"}), 0.0);
  const double some =
      error_with({"lm_head", "k_proj", "gate_proj", "down_proj"});
  const double most = error_with({"lm_head"});
  const double all = error_with({});
  EXPECT_GT(some, 0.0);
  EXPECT_LT(some, 0.15);
  EXPECT_GT(most, 0.0);
  EXPECT_NE(all, most);
  EXPECT_LT(all, 0.2);
}

// A history's first scale is that of the tensor at hand, which its cast reads
// for it; dynamic scaling is told most of its amaxes by the layers before.
TEST(LlamaFloat8Test, LayersTellCastsTheAmaxesThatTheseWouldFind) {
  for (const auto& keep :
       std::vector<std::vector<Keep>>{{}, {Keep::kAttention, Keep::kInput}}) {
    for (const DType dtype : {DType::kF32, DType::kBf16}) {
      LlamaOptions told, found;
      told.recipe = *float8::NamedRecipe("tensorwise");
      found.recipe = *float8::NamedRecipe("tensorwise_delayed");
      told.keep = found.keep = keep;
      told.compute_dtype = found.compute_dtype = dtype;
      OCTET_ASSERT_OK_AND_ASSIGN(TestModel a,
                                 MakeTestModel(TestConfig(), told, {dtype}));
      OCTET_ASSERT_OK_AND_ASSIGN(TestModel b,
                                 MakeTestModel(TestConfig(), found, {dtype}));
      OCTET_ASSERT_OK_AND_ASSIGN(const double loss, a.Run());
      OCTET_ASSERT_OK_AND_ASSIGN(const double expected, b.Run());
      EXPECT_EQ(loss, expected);
      EXPECT_EQ(a.Gradients(), b.Gradients());
    }
  }
}

TEST(LlamaFloat8Test, HistoriesAreSavedAndRestored) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel a,
      MakeTestModel(TestConfig(), "tensorwise_delayed", DType::kBf16));
  EXPECT_TRUE(a.model->SaveScaling()->empty());
  for (int step = 0; step < 3; ++step) {
    ASSERT_THAT(a.Run(1.0 / 47.0), IsOk());
    ASSERT_THAT(a.Descend(0.5), IsOk());
    ASSERT_THAT(a.model->AdvanceScaling(), IsOk());
  }
  const ScalingState state = *a.model->SaveScaling();
  EXPECT_EQ(state.count("model.layers.0.mlp.down_proj.grad_output"), 1u);
  EXPECT_EQ(state.count("lm_head.weight"), 0u);

  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel b,
      MakeTestModel(TestConfig(), "tensorwise_delayed", DType::kBf16));
  for (size_t i = 0; i < a.store->shards().size(); ++i) {
    ASSERT_THAT(Copy(Stream(), a.store->shards()[i].master,
                     b.store->shards()[i].master),
                IsOk());
  }
  ASSERT_THAT(b.store->WeightsChanged(), IsOk());
  ASSERT_THAT(b.model->RestoreScaling(state), IsOk());
  EXPECT_EQ(*b.model->SaveScaling(), state);
  OCTET_ASSERT_OK_AND_ASSIGN(const double expected, a.Run());
  OCTET_ASSERT_OK_AND_ASSIGN(const double loss, b.Run());
  EXPECT_EQ(loss, expected);
  EXPECT_EQ(a.Gradients(), b.Gradients());
}

// Case 25 (NVIDIA/TransformerEngine#567, #982): weights loaded over others,
// with no histories beside them, train as in a model that began with them.
TEST(LlamaFloat8Test, LoadedWeightsGetTheirOwnScales) {
  const auto fill = [](float value, TestModel* test) {
    for (const fsdp::ParamShard& shard : test->store->shards()) {
      if (shard.global_shape.rank() != 2) continue;
      for (int64_t i = 0; i < shard.master.num_elements(); ++i) {
        shard.master.as<float>()[i] = i % 3 == 0 ? value : -0.5f * value;
      }
    }
    return test->store->WeightsChanged();
  };
  const auto make = [] {
    return MakeTestModel(TestConfig(), "tensorwise_delayed", DType::kBf16);
  };
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel fresh, make());
  ASSERT_THAT(fill(2.0f, &fresh), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const double expected, fresh.Run());

  for (const bool reset : {false, true}) {
    OCTET_ASSERT_OK_AND_ASSIGN(TestModel test, make());
    ASSERT_THAT(fill(0.02f, &test), IsOk());
    ASSERT_THAT(test.Run(), IsOk());
    ASSERT_THAT(test.model->AdvanceScaling(), IsOk());
    ASSERT_THAT(test.store->ZeroGradients(), IsOk());
    ASSERT_THAT(fill(2.0f, &test), IsOk());
    if (reset) {
      ASSERT_THAT(test.model->RestoreScaling({}), IsOk());
    }
    OCTET_ASSERT_OK_AND_ASSIGN(const double loss, test.Run());
    // Stale scales show: what is compared would tell.
    EXPECT_EQ(loss == expected, reset);
    EXPECT_EQ(test.Gradients() == fresh.Gradients(), reset);
    ASSERT_THAT(test.model->AdvanceScaling(), IsOk());
    const ScalingState state = *test.model->SaveScaling();
    EXPECT_EQ(state.at("model.layers.0.mlp.up_proj.weight")[0], 2.0f);
  }
}

TEST(LlamaFloat8Test, DiscardForgetsAnEvaluation) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel test,
      MakeTestModel(TestConfig(), "tensorwise_delayed", DType::kBf16));
  ASSERT_THAT(test.Run(), IsOk());
  ASSERT_THAT(test.model->AdvanceScaling(), IsOk());
  const ScalingState before = *test.model->SaveScaling();
  ASSERT_THAT(test.Run(1000.0), IsOk());
  ASSERT_THAT(test.model->DiscardScaling(), IsOk());
  ASSERT_THAT(test.model->AdvanceScaling(), IsOk());
  EXPECT_EQ(*test.model->SaveScaling(), before);
}

TEST(LlamaFloat8Test, RestoreRefusesUnknownNamesAndNonFiniteHistories) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel test,
      MakeTestModel(TestConfig(), "tensorwise_delayed", DType::kBf16));
  EXPECT_THAT(test.model->RestoreScaling({{"model.layers.9.x", {1.0f}}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.layers.9.x")));
  EXPECT_THAT(test.model->RestoreScaling({{"lm_head.weight", {-1.0f}}}),
              Not(IsOk()));
}

}  // namespace
}  // namespace octet::models
