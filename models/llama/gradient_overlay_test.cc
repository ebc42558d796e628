// SPDX-License-Identifier: Apache-2.0
#include "models/llama/gradient_overlay.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "float8/recipe.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "models/llama/model.h"
#include "models/llama/params.h"
#include "models/llama/test_model.h"
#include "testing/status_matchers.h"

namespace octet::models {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;

LlamaConfig Deep() {
  LlamaConfig config = TestConfig();
  config.num_layers = 5;
  return config;
}

LlamaOptions Options(const char* recipe, Keep keep) {
  LlamaOptions options;
  options.recipe = *float8::NamedRecipe(recipe);
  options.compute_dtype = DType::kBf16;
  options.keep.assign(Deep().num_layers, keep);
  return options;
}

// A gradient must begin behind the activations of its own block, and no two may
// meet.
TEST(GradientOverlayTest, EachBlockWritesBehindWhatIsStillRead) {
  for (const Keep keep : {Keep::kAll, Keep::kAttention, Keep::kInput}) {
    for (const int64_t length : {8, 64}) {
      const LlamaConfig config = Deep();
      const ActivationLayout layout = LayOutActivations(
          config, Options("tensorwise", keep), DeviceKind::kCpu, 2, length);
      const GradientOverlay overlay =
          OverlayGradients(config, layout, DType::kF32);
      EXPECT_EQ(overlay.offsets.size(), 7u * config.num_layers);
      std::vector<std::pair<int64_t, int64_t>> places;
      for (int64_t i = 0; i < config.num_layers; ++i) {
        const int64_t dead = i + 1 < config.num_layers
                                 ? layout.block_begins[i + 1]
                                 : layout.bytes;
        const auto units = UnitSpecs(config);
        for (const fsdp::ParamSpec& param : units[i + 1].params) {
          if (param.shape.rank() < 2) continue;
          const int64_t begin = overlay.offsets.at(param.name);
          EXPECT_EQ(begin % 256, 0);
          EXPECT_GE(begin, dead) << param.name;
          places.push_back({begin, begin + 4 * param.shape.num_elements()});
        }
      }
      std::sort(places.begin(), places.end());
      for (size_t p = 1; p < places.size(); ++p) {
        EXPECT_GE(places[p].first, places[p - 1].second);
      }
      EXPECT_LE(places.back().second, overlay.bytes);
    }
  }
}

// Long sequences: activations are larger than gradients, so that only the last
// block's need more.
TEST(GradientOverlayTest, TheLastBlocksGradientsAreAllThatIsAdded) {
  const LlamaConfig config = Deep();
  const ActivationLayout layout = LayOutActivations(
      config, Options("tensorwise", Keep::kAll), DeviceKind::kCpu, 2, 128);
  int64_t block = 0;
  const auto units = UnitSpecs(config);
  for (const fsdp::ParamSpec& param : units[1].params) {
    if (param.shape.rank() < 2) continue;
    block += CeilDiv(4 * param.shape.num_elements(), 256) * 256;
  }
  EXPECT_EQ(OverlayGradients(config, layout, DType::kF32).bytes,
            layout.bytes + block);
}

TEST(GradientOverlayTest, ChangesNoBit) {
  for (const char* recipe : {"bf16", "tensorwise", "blockwise"}) {
    for (const Keep keep : {Keep::kAll, Keep::kAttention, Keep::kInput}) {
      LlamaOptions options = Options(recipe, keep);
      const LlamaConfig config = Deep();
      OCTET_ASSERT_OK_AND_ASSIGN(
          TestModel whole, MakeTestModel(config, options, {DType::kBf16}));
      const GradientOverlay overlay = OverlayGradients(
          config, LayOutActivations(config, options, DeviceKind::kCpu, 2, 24),
          DType::kF32);
      const Tensor memory = MakeZeros(DType::kU8, Shape({overlay.bytes}));
      options.memory = memory;
      fsdp::WholeParamStoreOptions store{DType::kBf16};
      store.gradient_memory =
          GradientViews(config, overlay, DType::kF32, memory);
      OCTET_ASSERT_OK_AND_ASSIGN(TestModel test,
                                 MakeTestModel(config, options, store));
      for (int step = 0; step < 3; ++step) {
        OCTET_ASSERT_OK_AND_ASSIGN(const double loss, whole.Run());
        OCTET_ASSERT_OK_AND_ASSIGN(const double again, test.Run());
        EXPECT_EQ(loss, again);
        EXPECT_EQ(whole.Gradients(), test.Gradients());
        ASSERT_THAT(whole.Descend(0.01), IsOk());
        ASSERT_THAT(test.Descend(0.01), IsOk());
      }
      EXPECT_EQ(test.model->activation_bytes(), overlay.bytes);
    }
  }
}

TEST(GradientOverlayTest, TheStoreRefusesGradientsThatDoNotFit) {
  fsdp::WholeParamStoreOptions store{DType::kBf16};
  const std::string name = "model.layers.0.mlp.up_proj.weight";
  store.gradient_memory[name] = TensorView(nullptr, DType::kF32, Shape({3, 3}));
  EXPECT_THAT(
      MakeTestModel(Deep(), Options("bf16", Keep::kAll), store),
      StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr(name)));
}

}  // namespace
}  // namespace octet::models
