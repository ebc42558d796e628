// SPDX-License-Identifier: Apache-2.0

// What saves memory and changes no bit, and what changes few.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/float16.h"
#include "float8/recipe.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "models/llama/model.h"
#include "models/llama/test_model.h"
#include "testing/status_matchers.h"

namespace octet::models {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;

LlamaOptions Options(const std::string& recipe) {
  LlamaOptions options;
  options.recipe = *float8::NamedRecipe(recipe);
  options.compute_dtype = DType::kBf16;
  return options;
}

class ModelMemoryTest : public ::testing::TestWithParam<const char*> {};

// Two passes, so that what the first left behind would show in the second.
void ExpectSameBits(TestModel& expected, TestModel& test) {
  for (int pass = 0; pass < 2; ++pass) {
    OCTET_ASSERT_OK_AND_ASSIGN(const double loss, expected.Run());
    OCTET_ASSERT_OK_AND_ASSIGN(const double again, test.Run());
    EXPECT_EQ(loss, again);
    EXPECT_EQ(expected.Gradients(), test.Gradients());
    ASSERT_THAT(expected.Descend(0.01), IsOk());
    ASSERT_THAT(test.Descend(0.01), IsOk());
    ASSERT_THAT(expected.model->AdvanceScaling(), IsOk());
    ASSERT_THAT(test.model->AdvanceScaling(), IsOk());
  }
}

TEST_P(ModelMemoryTest, RecomputingChangesNoBit) {
  for (const auto& keep :
       std::vector<std::vector<Keep>>{{Keep::kAttention, Keep::kAttention},
                                      {Keep::kInput, Keep::kInput},
                                      {Keep::kAll, Keep::kInput},
                                      {Keep::kInput, Keep::kAttention}}) {
    LlamaOptions options = Options(GetParam());
    OCTET_ASSERT_OK_AND_ASSIGN(
        TestModel whole, MakeTestModel(TestConfig(), options, {DType::kBf16}));
    options.keep = keep;
    OCTET_ASSERT_OK_AND_ASSIGN(
        TestModel test, MakeTestModel(TestConfig(), options, {DType::kBf16}));
    ExpectSameBits(whole, test);
    EXPECT_LE(test.model->activation_bytes(), whole.model->activation_bytes());
  }
}

TEST_P(ModelMemoryTest, TransientWeightsChangeNoBit) {
  fsdp::WholeParamStoreOptions store{DType::kBf16};
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel whole, MakeTestModel(TestConfig(), Options(GetParam()), store));
  store.transient_units = {1, 2};
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel test, MakeTestModel(TestConfig(), Options(GetParam()), store));
  ExpectSameBits(whole, test);
}

TEST_P(ModelMemoryTest, NarrowStatesAreNear) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel wide,
      MakeTestModel(TestConfig(), Options(GetParam()), {DType::kBf16}));
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel test,
      MakeTestModel(TestConfig(), Options(GetParam()),
                    {DType::kBf16, DType::kBf16, DType::kBf16}));
  // The same weights for both: rounded masters.
  OCTET_ASSERT_OK_AND_ASSIGN(const double loss, wide.Run());
  OCTET_ASSERT_OK_AND_ASSIGN(const double near, test.Run());
  EXPECT_EQ(loss, near);
  EXPECT_LT(ErrorOf(test.Gradients(), wide.Gradients()), 0x1p-8);
  EXPECT_GT(ErrorOf(test.Gradients(), wide.Gradients()), 0.0);
}

// As the optimizer does it: masters, copies and amaxes in one go.
absl::Status DescendAndTell(TestModel& test, double rate) {
  for (const fsdp::ParamShard& shard : test.store->shards()) {
    float largest = 0.0f;
    for (int64_t i = 0; i < shard.master.num_elements(); ++i) {
      float& master = shard.master.as<float>()[i];
      master -= static_cast<float>(rate) * shard.gradient.as<float>()[i];
      float weight = master;
      if (shard.weight.present()) {
        shard.weight.as<Bfloat16>()[i] = ToBfloat16(master);
        weight = ToFloat(ToBfloat16(master));
      }
      largest = std::max(largest, std::abs(weight));
    }
    if (shard.amax.present()) shard.amax.as<float>()[0] = largest;
  }
  if (auto s = test.store->MastersAndWeightsChanged(); !s.ok()) return s;
  return test.store->ZeroGradients();
}

TEST_P(ModelMemoryTest, AmaxesThatAreToldChangeNoBit) {
  for (const std::vector<int64_t>& transient :
       {std::vector<int64_t>{}, std::vector<int64_t>{1, 2}}) {
    fsdp::WholeParamStoreOptions store{DType::kBf16};
    OCTET_ASSERT_OK_AND_ASSIGN(
        TestModel taken,
        MakeTestModel(TestConfig(), Options(GetParam()), store));
    store.transient_units = transient;
    OCTET_ASSERT_OK_AND_ASSIGN(
        TestModel told,
        MakeTestModel(TestConfig(), Options(GetParam()), store));
    for (int pass = 0; pass < 3; ++pass) {
      OCTET_ASSERT_OK_AND_ASSIGN(const double loss, taken.Run());
      OCTET_ASSERT_OK_AND_ASSIGN(const double again, told.Run());
      EXPECT_EQ(loss, again);
      EXPECT_EQ(taken.Gradients(), told.Gradients());
      ASSERT_THAT(taken.Descend(0.01), IsOk());
      ASSERT_THAT(DescendAndTell(told, 0.01), IsOk());
      ASSERT_THAT(taken.model->AdvanceScaling(), IsOk());
      ASSERT_THAT(told.model->AdvanceScaling(), IsOk());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, ModelMemoryTest,
                         ::testing::Values("bf16", "tensorwise", "rowwise",
                                           "blockwise", "rowwise_gw_hp",
                                           "tensorwise_delayed"));

TEST(ModelKeepTest, KeepIsForEachLayer) {
  LlamaOptions options = Options("bf16");
  options.keep = {Keep::kAll};
  EXPECT_THAT(MakeTestModel(TestConfig(), options, {DType::kBf16}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("keep is given for 1 layers")));
}

}  // namespace
}  // namespace octet::models
