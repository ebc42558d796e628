// SPDX-License-Identifier: Apache-2.0

// The whole model on a device, beside the CPU's.
#include <string>
#include <vector>

#include "float8/recipe.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "models/llama/model.h"
#include "models/llama/test_model.h"
#include "testing/status_matchers.h"
#include "testing/test_device.h"

namespace octet::models {
namespace {

using ::octet::testing::IsOk;

// Heads as cuDNN takes them, and products as cuBLASLt does.
LlamaConfig Config() {
  LlamaConfig config = TestConfig();
  config.hidden_size = 128;
  config.intermediate_size = 256;
  config.head_dim = 32;
  return config;
}

LlamaOptions Options(const std::string& recipe, DType dtype) {
  LlamaOptions options;
  options.recipe = *float8::NamedRecipe(recipe);
  options.compute_dtype = dtype;
  return options;
}

struct Case {
  const char* recipe;
  DType dtype;
  double tolerance;  // of all gradients, relative to their norm
};

class ModelDeviceTest : public ::testing::TestWithParam<Case> {};

// Sums in another order: their last bits decide on which side of a tie a value
// is rounded to bf16, and that on its float8 byte.
TEST_P(ModelDeviceTest, LossAndGradientsAreTheCpus) {
  OCTET_TEST_STREAM(stream);
  const LlamaOptions options = Options(GetParam().recipe, GetParam().dtype);
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel cpu, MakeTestModel(Config(), options, {GetParam().dtype}));
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel test,
      MakeTestModel(Config(), options, {GetParam().dtype}, 24, stream));
  OCTET_ASSERT_OK_AND_ASSIGN(const double expected, cpu.Run());
  OCTET_ASSERT_OK_AND_ASSIGN(const double loss, test.Run());
  EXPECT_NEAR(loss / expected, 1.0, GetParam().tolerance / 10);
  EXPECT_LT(ErrorOf(test.Gradients(), cpu.Gradients()), GetParam().tolerance);
  // What accumulates: the same again.
  OCTET_ASSERT_OK_AND_ASSIGN(const double again, test.Run());
  EXPECT_EQ(loss, again);
  ASSERT_THAT(cpu.Run(), IsOk());
  EXPECT_LT(ErrorOf(test.Gradients(), cpu.Gradients()), GetParam().tolerance);
}

TEST_P(ModelDeviceTest, TheSameBitsOnEveryRunAndByRecomputing) {
  OCTET_TEST_STREAM(stream);
  LlamaOptions options = Options(GetParam().recipe, GetParam().dtype);
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel first,
      MakeTestModel(Config(), options, {GetParam().dtype}, 40, stream));
  OCTET_ASSERT_OK_AND_ASSIGN(const double loss, first.Run());
  const std::vector<double> gradients = first.Gradients();
  for (const auto& keep : std::vector<std::vector<Keep>>{
           {}, {Keep::kAttention, Keep::kInput}, {Keep::kInput, Keep::kAll}}) {
    options.keep = keep;
    OCTET_ASSERT_OK_AND_ASSIGN(
        TestModel test,
        MakeTestModel(Config(), options, {GetParam().dtype}, 40, stream));
    OCTET_ASSERT_OK_AND_ASSIGN(const double again, test.Run());
    EXPECT_EQ(loss, again);
    EXPECT_EQ(gradients, test.Gradients());
  }
}

// A history's first scale is that of the tensor at hand, which its cast reads
// for it; dynamic scaling is told most of its amaxes by the layers before.
TEST(ModelDeviceAmaxTest, LayersTellCastsTheAmaxesThatTheseWouldFind) {
  OCTET_TEST_STREAM(stream);
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel told,
      MakeTestModel(Config(), Options("tensorwise", DType::kBf16),
                    {DType::kBf16}, 40, stream));
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel found,
      MakeTestModel(Config(), Options("tensorwise_delayed", DType::kBf16),
                    {DType::kBf16}, 40, stream));
  OCTET_ASSERT_OK_AND_ASSIGN(const double loss, told.Run());
  OCTET_ASSERT_OK_AND_ASSIGN(const double expected, found.Run());
  EXPECT_EQ(loss, expected);
  EXPECT_EQ(told.Gradients(), found.Gradients());
}

INSTANTIATE_TEST_SUITE_P(
    Recipes, ModelDeviceTest,
    ::testing::Values(Case{"bf16", DType::kF32, 1e-5},
                      Case{"bf16", DType::kBf16, 0x1p-6},
                      Case{"tensorwise", DType::kBf16, 0x1p-4},
                      Case{"tensorwise_delayed", DType::kBf16, 0x1p-4},
                      Case{"rowwise", DType::kBf16, 0x1p-4},
                      Case{"rowwise_gw_hp", DType::kBf16, 0x1p-4},
                      Case{"blockwise", DType::kBf16, 0x1p-4}),
    [](const auto& info) {
      return std::string(info.param.recipe) +
             (info.param.dtype == DType::kF32 ? "_f32" : "");
    });

}  // namespace
}  // namespace octet::models
