// SPDX-License-Identifier: Apache-2.0

// What saves memory and changes no bit, and what changes few.
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
