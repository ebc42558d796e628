// SPDX-License-Identifier: Apache-2.0
#include "models/llama/params.h"

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fsdp/whole_param_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "models/llama/config.h"
#include "models/llama/sharded_test_store.h"
#include "testing/status_matchers.h"

namespace octet::models {
namespace {

using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::HasSubstr;

LlamaConfig Small() {
  LlamaConfig config;
  config.vocab_size = 300;
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.num_layers = 2;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  config.head_dim = 16;
  return config;
}

std::map<std::string, std::vector<double>> Init(const LlamaConfig& config,
                                                uint64_t seed) {
  auto store =
      fsdp::WholeParamStore::Create(Stream(), UnitSpecs(config), {DType::kF32});
  EXPECT_THAT(store, IsOk());
  const int64_t before = (*store)->version();
  EXPECT_THAT(InitParams(Stream(), config, seed, store->get()), IsOk());
  EXPECT_NE((*store)->version(), before);
  std::map<std::string, std::vector<double>> values;
  for (const fsdp::ParamShard& shard : (*store)->shards()) {
    values[shard.name] = Doubles(shard.master);
  }
  return values;
}

double Deviation(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double v : values) sum += v * v;
  return std::sqrt(sum / values.size());
}

TEST(ParamsTest, UnitsHoldEveryParameterOfEveryPreset) {
  for (const LlamaPreset& preset : LlamaPresets()) {
    const auto units = UnitSpecs(preset.config);
    ASSERT_EQ(units.size(), preset.config.num_layers + 2) << preset.name;
    int64_t elements = 0;
    for (const auto& unit : units) {
      for (const auto& param : unit.params) {
        elements += param.shape.num_elements();
      }
    }
    EXPECT_EQ(elements, NumParameters(preset.config)) << preset.name;
    EXPECT_EQ(units[1].params.size(), kNumBlockParams);
    EXPECT_EQ(units[1].params[kDown].name,
              "model.layers.0.mlp.down_proj.weight");
    EXPECT_EQ(units.back().params.size(),
              preset.config.tie_word_embeddings ? 1u : 2u);
  }
}

TEST(ParamsTest, DeviationsAreTorchtitans) {
  const auto values = Init(Small(), 1);
  const auto expect = [&](const char* name, double deviation) {
    // Some three standard errors of at least 2048 elements.
    EXPECT_NEAR(Deviation(values.at(name)) / deviation, 1.0, 0.05) << name;
  };
  expect("model.embed_tokens.weight", 1.0);
  expect("model.layers.0.self_attn.q_proj.weight", 0.02);
  expect("model.layers.1.self_attn.k_proj.weight", 0.02);
  expect("model.layers.1.self_attn.v_proj.weight", 0.02);
  expect("model.layers.1.mlp.gate_proj.weight", 0.02);
  expect("model.layers.0.self_attn.o_proj.weight", 0.02 / std::sqrt(2.0));
  expect("model.layers.0.mlp.up_proj.weight", 0.02 / std::sqrt(2.0));
  expect("model.layers.1.mlp.up_proj.weight", 0.02 / std::sqrt(4.0));
  expect("model.layers.1.mlp.down_proj.weight", 0.02 / std::sqrt(4.0));
  // A normal distribution cut at 3 deviations has 0.9866 of them.
  expect("lm_head.weight", 0.9866 / 8.0);
  for (const double v : values.at("lm_head.weight")) {
    EXPECT_LE(std::abs(v), 3.0 / 8.0);
  }
  for (const char* name :
       {"model.norm.weight", "model.layers.1.input_layernorm.weight",
        "model.layers.0.post_attention_layernorm.weight"}) {
    EXPECT_EQ(values.at(name), std::vector<double>(64, 1.0)) << name;
  }
}

TEST(ParamsTest, ATiedEmbeddingStartsAsAHead) {
  LlamaConfig config = Small();
  config.tie_word_embeddings = true;
  const auto values = Init(config, 1);
  EXPECT_EQ(values.count("lm_head.weight"), 0u);
  EXPECT_NEAR(Deviation(values.at("model.embed_tokens.weight")), 0.9866 / 8.0,
              0.005);
}

TEST(ParamsTest, SeedsAndNamesGiveOtherNumbers) {
  const auto a = Init(Small(), 1);
  EXPECT_EQ(a, Init(Small(), 1));
  const auto b = Init(Small(), 2);
  EXPECT_NE(a.at("lm_head.weight"), b.at("lm_head.weight"));
  EXPECT_NE(a.at("model.layers.0.self_attn.q_proj.weight"),
            a.at("model.layers.1.self_attn.q_proj.weight"));
}

TEST(ParamsTest, ShardsAreRowsOfTheWhole) {
  const auto whole = Init(Small(), 7);
  for (const int64_t ranks : {2, 3, 7}) {
    std::map<std::string, std::vector<double>> joined;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      ShardedTestStore store(UnitSpecs(Small()), rank, ranks);
      ASSERT_THAT(InitParams(Stream(), Small(), 7, &store), IsOk());
      for (const fsdp::ParamShard& shard : store.shards()) {
        const std::vector<double> part = Doubles(shard.master);
        auto& all = joined[shard.name];
        all.insert(all.end(), part.begin(), part.end());
      }
    }
    EXPECT_EQ(joined, whole) << ranks;
  }
}

TEST(ParamsTest, AStoreOfAnotherModelIsRefused) {
  ShardedTestStore store(UnitSpecs(Small()), 0, 1);
  LlamaConfig wider = Small();
  wider.intermediate_size = 112;
  EXPECT_THAT(InitParams(Stream(), wider, 1, &store),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("gate_proj.weight [96, 64]")));
  LlamaConfig deeper = Small();
  deeper.num_layers = 3;
  EXPECT_THAT(InitParams(Stream(), deeper, 1, &store),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("4 units, the model 5")));
  LlamaConfig tied = Small();
  tied.tie_word_embeddings = true;
  EXPECT_THAT(InitParams(Stream(), tied, 1, &store),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("lm_head.weight")));
}

}  // namespace
}  // namespace octet::models
