// SPDX-License-Identifier: Apache-2.0
#include "models/llama/hf.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fsdp/whole_param_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "io/safetensors_set.h"
#include "models/layers/test_tensors.h"
#include "models/llama/params.h"
#include "models/llama/sharded_test_store.h"
#include "testing/goldens.h"
#include "testing/status_matchers.h"

namespace octet::models {
namespace {

using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::HasSubstr;

LlamaConfig Small() {
  LlamaConfig config;
  config.vocab_size = 24;
  config.hidden_size = 16;
  config.intermediate_size = 32;
  config.num_layers = 1;
  config.num_heads = 2;
  config.num_kv_heads = 1;
  config.head_dim = 8;
  return config;
}

std::string Folder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "/" + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::unique_ptr<fsdp::WholeParamStore> MakeStore(const LlamaConfig& config) {
  auto store =
      fsdp::WholeParamStore::Create(Stream(), UnitSpecs(config), {DType::kF32});
  EXPECT_THAT(store, IsOk());
  return std::move(*store);
}

std::map<std::string, std::vector<double>> Values(
    const fsdp::ParamStore& store) {
  std::map<std::string, std::vector<double>> values;
  for (const fsdp::ParamShard& shard : store.shards()) {
    values[shard.name] = Doubles(shard.master);
  }
  return values;
}

// Weights in bf16's grid, so that every stored type but float8 holds them.
std::unique_ptr<fsdp::WholeParamStore> MakeInitialised(
    const LlamaConfig& config) {
  auto store = MakeStore(config);
  EXPECT_THAT(InitParams(Stream(), config, 3, store.get()), IsOk());
  for (const fsdp::ParamShard& shard : store->shards()) {
    const Tensor rounded =
        MakeTensor(DType::kBf16, shard.master.shape(), Doubles(shard.master));
    EXPECT_THAT(
        Copy(Stream(),
             MakeTensor(DType::kF32, shard.master.shape(), Doubles(rounded)),
             shard.master),
        IsOk());
  }
  return store;
}

io::Json GoldenConfig() {
  const auto json =
      io::ReadJsonFile(octet::testing::GoldenPath("llama_gqa/config.json"));
  EXPECT_THAT(json, IsOk());
  return json.value_or(io::Json());
}

TEST(HfConfigTest, ReadsWhatTransformersWrites) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const LlamaConfig gqa,
      ReadHfConfig(octet::testing::GoldenPath("llama_gqa")));
  EXPECT_EQ(gqa.num_layers, 2);
  EXPECT_EQ(gqa.num_heads, 4);
  EXPECT_EQ(gqa.num_kv_heads, 2);
  EXPECT_EQ(gqa.head_dim, 16);
  EXPECT_EQ(gqa.rope_theta, 10000.0);
  EXPECT_EQ(gqa.rms_norm_eps, 1e-5);
  EXPECT_FALSE(gqa.tie_word_embeddings);
  EXPECT_FALSE(gqa.rope_scaling.has_value());
  OCTET_ASSERT_OK_AND_ASSIGN(
      const LlamaConfig scaled,
      ReadHfConfig(octet::testing::GoldenPath("llama_rope_scaled")));
  EXPECT_EQ(scaled.rope_theta, 500000.0);
  ASSERT_TRUE(scaled.rope_scaling.has_value());
  EXPECT_EQ(*scaled.rope_scaling, (RopeScaling{8.0, 1.0, 4.0, 32}));
  OCTET_ASSERT_OK_AND_ASSIGN(
      const LlamaConfig tied,
      ReadHfConfig(octet::testing::GoldenPath("llama_tied_sharded")));
  EXPECT_TRUE(tied.tie_word_embeddings);
}

TEST(HfConfigTest, ReadsOlderFilesAndFillsInDefaults) {
  io::Json json = GoldenConfig();
  for (const char* key : {"head_dim", "num_key_value_heads", "rope_parameters",
                          "rms_norm_eps", "tie_word_embeddings"}) {
    json.erase(key);
  }
  json["rope_theta"] = 500000.0;
  json["rope_scaling"] = {{"type", "llama3"},
                          {"factor", 32},
                          {"low_freq_factor", 1.0},
                          {"high_freq_factor", 4.0},
                          {"original_max_position_embeddings", 8192}};
  OCTET_ASSERT_OK_AND_ASSIGN(const LlamaConfig config,
                             ParseHfConfig(json, "config"));
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.num_kv_heads, 4);
  EXPECT_EQ(config.rms_norm_eps, 1e-6);
  EXPECT_EQ(config.rope_theta, 500000.0);
  EXPECT_EQ(*config.rope_scaling, (RopeScaling{32.0, 1.0, 4.0, 8192}));
  json["rope_scaling"] = nullptr;
  json["head_dim"] = nullptr;
  OCTET_ASSERT_OK_AND_ASSIGN(const LlamaConfig plain,
                             ParseHfConfig(json, "config"));
  EXPECT_FALSE(plain.rope_scaling.has_value());
  EXPECT_EQ(plain.head_dim, 16);
}

TEST(HfConfigTest, RefusesByNameWhatItCannotDo) {
  const auto parse = [](const char* key, const io::Json& value) {
    io::Json json = GoldenConfig();
    json[key] = value;
    return ParseHfConfig(json, "folder/config.json").status();
  };
  const auto unsupported = [](const char* text) {
    return StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(text));
  };
  EXPECT_THAT(parse("attention_bias", true), unsupported("attention_bias"));
  EXPECT_THAT(parse("mlp_bias", true), unsupported("mlp_bias"));
  EXPECT_THAT(parse("hidden_act", "gelu"), unsupported("\"gelu\""));
  EXPECT_THAT(parse("model_type", "qwen2"), unsupported("\"qwen2\""));
  EXPECT_THAT(parse("attention_dropout", 0.1), unsupported("0.1"));
  EXPECT_THAT(parse("rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}}),
              unsupported("\"yarn\""));
  EXPECT_THAT(parse("rope_parameters", {{"partial_rotary_factor", 0.5}}),
              unsupported("partial_rotary_factor"));
}

TEST(HfConfigTest, NamesMissingAndMistypedFields) {
  io::Json json = GoldenConfig();
  json.erase("hidden_size");
  EXPECT_THAT(ParseHfConfig(json, "folder/config.json"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("hidden_size")));
  json = GoldenConfig();
  json["vocab_size"] = "many";
  EXPECT_THAT(ParseHfConfig(json, "x"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("vocab_size")));
  json = GoldenConfig();
  json["num_key_value_heads"] = 3;
  EXPECT_THAT(ParseHfConfig(json, "folder/config.json"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("folder/config.json: llama: num_heads 4")));
  EXPECT_THAT(ReadHfConfig("/nowhere"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(HfConfigTest, WrittenConfigsReadBackTheSame) {
  for (const LlamaPreset& preset : LlamaPresets()) {
    const io::Json json = HfConfig(preset.config, DType::kBf16);
    OCTET_ASSERT_OK_AND_ASSIGN(const LlamaConfig config,
                               ParseHfConfig(json, preset.name));
    EXPECT_EQ(config, preset.config) << preset.name;
    EXPECT_EQ(json["torch_dtype"], "bfloat16");
    EXPECT_EQ(json["architectures"][0], "LlamaForCausalLM");
  }
}

TEST(HfWeightsTest, SavedFoldersLoadBitForBit) {
  for (const bool tied : {false, true}) {
    for (const int64_t shard_bytes : {int64_t{1} << 30, int64_t{1000}}) {
      LlamaConfig config = Small();
      config.tie_word_embeddings = tied;
      const auto store = MakeInitialised(config);
      for (const DType dtype : {DType::kF32, DType::kBf16}) {
        const std::string folder = Folder("roundtrip");
        HfSaveOptions options;
        options.dtype = dtype;
        options.max_shard_bytes = shard_bytes;
        ASSERT_THAT(SaveHf(Stream(), folder, config, *store, options), IsOk());
        EXPECT_EQ(
            std::filesystem::exists(folder + "/model.safetensors.index.json"),
            shard_bytes == 1000);
        OCTET_ASSERT_OK_AND_ASSIGN(const LlamaConfig read,
                                   ReadHfConfig(folder));
        EXPECT_EQ(read, config);
        const auto loaded = MakeStore(config);
        ASSERT_THAT(LoadHfWeights(Stream(), folder, config, loaded.get()),
                    IsOk());
        EXPECT_EQ(Values(*loaded), Values(*store));
      }
    }
  }
}

TEST(HfWeightsTest, Bf16FilesSayThatTheyAreOfPyTorch) {
  const auto store = MakeInitialised(Small());
  const std::string folder = Folder("metadata");
  ASSERT_THAT(SaveHf(Stream(), folder, Small(), *store), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(
      const io::SafetensorsFile file,
      io::SafetensorsFile::Open(folder + "/model.safetensors"));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  OCTET_ASSERT_OK_AND_ASSIGN(const TensorView view,
                             file.Find("lm_head.weight"));
  EXPECT_EQ(view.dtype(), DType::kBf16);
}

// A folder with the store's weights, one of them replaced, left out or added.
struct Change {
  std::string name;
  const Tensor* replacement = nullptr;
  std::string scale_name;
  const Tensor* scale = nullptr;
};

std::string WriteChanged(const fsdp::ParamStore& store, const Change& change) {
  const std::string folder = Folder("changed");
  std::vector<io::NamedTensor> tensors;
  bool found = false;
  for (const fsdp::ParamShard& shard : store.shards()) {
    if (shard.name != change.name) {
      tensors.push_back({shard.name, shard.master});
      continue;
    }
    found = true;
    if (change.replacement != nullptr) {
      tensors.push_back({shard.name, *change.replacement});
    }
  }
  if (!found) tensors.push_back({change.name, *change.replacement});
  if (change.scale != nullptr) {
    tensors.push_back({change.scale_name, *change.scale});
  }
  EXPECT_THAT(io::WriteSafetensorsSet(folder, tensors), IsOk());
  return folder;
}

TEST(HfWeightsTest, TakesEveryFloatingPointType) {
  const auto store = MakeInitialised(Small());
  const std::string name = "model.norm.weight";
  const std::vector<double> values = {0.5, 1,  2,  -3, 4,  5,  6,  7,
                                      8,   -9, 10, 11, 12, 13, 14, 15};
  for (const DType dtype :
       {DType::kF64, DType::kF32, DType::kF16, DType::kBf16}) {
    const Tensor tensor = MakeTensor(dtype, Shape({16}), values);
    const auto loaded = MakeStore(Small());
    ASSERT_THAT(
        LoadHfWeights(Stream(), WriteChanged(*store, {name, &tensor, "", {}}),
                      Small(), loaded.get()),
        IsOk());
    EXPECT_EQ(Values(*loaded).at(name), values);
  }
}

// Case 93 (NVIDIA/TensorRT-Model-Connect#1115).
TEST(HfWeightsTest, Float8NeedsAScale) {
  const auto store = MakeInitialised(Small());
  const std::string name = "model.layers.0.self_attn.k_proj.weight";
  const Shape shape({8, 16});
  std::vector<double> values(128);
  for (int i = 0; i < 128; ++i) values[i] = i % 16 - 8.0;
  const Tensor tensor = MakeTensor(DType::kF8E4M3, shape, values);
  const auto loaded = MakeStore(Small());
  EXPECT_THAT(
      LoadHfWeights(Stream(), WriteChanged(*store, {name, &tensor, "", {}}),
                    Small(), loaded.get()),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("k_proj")));
  const Tensor one = MakeTensor(DType::kF32, Shape({1}), {0.25});
  ASSERT_THAT(LoadHfWeights(
                  Stream(),
                  WriteChanged(*store, {name, &tensor, name + "_scale", &one}),
                  Small(), loaded.get()),
              IsOk());
  EXPECT_EQ(Values(*loaded).at(name)[3], -5.0 * 0.25);
  const Tensor rows =
      MakeTensor(DType::kF32, Shape({8, 1}), {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_THAT(LoadHfWeights(Stream(),
                            WriteChanged(*store, {name, &tensor,
                                                  name + "_scale_inv", &rows}),
                            Small(), loaded.get()),
              IsOk());
  EXPECT_EQ(Values(*loaded).at(name)[3], -5.0);
  EXPECT_EQ(Values(*loaded).at(name)[7 * 16 + 3], -40.0);
  const Tensor odd = MakeTensor(DType::kF32, Shape({3}), {1, 2, 3});
  EXPECT_THAT(
      LoadHfWeights(
          Stream(),
          WriteChanged(*store, {name, &tensor, name + "_scale", &odd}), Small(),
          loaded.get()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("scales")));
}

TEST(HfWeightsTest, NamesMissingSurplusAndMisshapenTensors) {
  const auto store = MakeInitialised(Small());
  const auto loaded = MakeStore(Small());
  const Tensor tensor = MakeZeros(DType::kF32, Shape({17}));
  const auto load = [&](const Change& change) {
    return LoadHfWeights(Stream(), WriteChanged(*store, change), Small(),
                         loaded.get());
  };
  EXPECT_THAT(
      load({"model.norm.weight", nullptr, "", {}}),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("model.norm.weight")));
  EXPECT_THAT(load({"model.layers.0.self_attn.q_proj.bias", &tensor, "", {}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.layers.0.self_attn.q_proj.bias")));
  EXPECT_THAT(load({"model.layers.1.mlp.up_proj.weight", &tensor, "", {}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.layers.1.mlp.up_proj.weight")));
  EXPECT_THAT(load({"model.norm.weight", &tensor, "", {}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.norm.weight is f32 [17]")));
}

TEST(HfWeightsTest, ATiedHeadMayBeThereAgain) {
  LlamaConfig config = Small();
  config.tie_word_embeddings = true;
  const auto store = MakeInitialised(config);
  const Tensor head = MakeZeros(DType::kF32, Shape({24, 16}));
  const auto loaded = MakeStore(config);
  ASSERT_THAT(
      LoadHfWeights(Stream(),
                    WriteChanged(*store, {"lm_head.weight", &head, "", {}}),
                    config, loaded.get()),
      IsOk());
  EXPECT_EQ(Values(*loaded), Values(*store));
}

// Case 87 (pytorch/torchtitan#1702): uneven rows.
TEST(HfWeightsTest, ShardsTakeTheirRows) {
  const auto store = MakeInitialised(Small());
  const std::string folder = Folder("sharded");
  ASSERT_THAT(SaveHf(Stream(), folder, Small(), *store), IsOk());
  std::map<std::string, std::vector<double>> joined;
  for (int64_t rank = 0; rank < 5; ++rank) {
    ShardedTestStore part(UnitSpecs(Small()), rank, 5);
    ASSERT_THAT(LoadHfWeights(Stream(), folder, Small(), &part), IsOk());
    for (const auto& [name, values] : Values(part)) {
      joined[name].insert(joined[name].end(), values.begin(), values.end());
    }
    EXPECT_THAT(SaveHf(Stream(), folder, Small(), part),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("is sharded")));
  }
  EXPECT_EQ(joined, Values(*store));
}

TEST(HfWeightsTest, SaveRefusesWhatIsNotTheModel) {
  const auto store = MakeInitialised(Small());
  const std::string folder = Folder("refused");
  HfSaveOptions options;
  options.dtype = DType::kF16;
  EXPECT_THAT(SaveHf(Stream(), folder, Small(), *store, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f16")));
  EXPECT_THAT(SaveHf(folder, Small(), {}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.embed_tokens.weight is given 0")));
}

}  // namespace
}  // namespace octet::models
