// SPDX-License-Identifier: Apache-2.0
#include "models/llama/test_model.h"

#include <utility>

#include "base/status_macros.h"
#include "float8/recipe.h"
#include "models/layers/test_tensors.h"
#include "models/llama/params.h"
#include "testing/test_device.h"

namespace octet::models {

LlamaConfig TestConfig() {
  LlamaConfig config;
  config.vocab_size = 48;
  config.hidden_size = 32;
  config.intermediate_size = 80;
  config.num_layers = 2;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  config.head_dim = 16;
  config.max_position_embeddings = 128;
  config.rope_theta = 10000.0;
  return config;
}

absl::StatusOr<double> TestModel::Run(double grad_scale) {
  return model->ForwardBackward(tokens, targets, grad_scale);
}

std::vector<double> TestModel::Gradients() const {
  std::vector<double> all;
  if (!store->FinishGradients().ok()) return all;
  for (const fsdp::ParamShard& shard : store->shards()) {
    const auto host = octet::testing::ToHost(stream, shard.gradient);
    if (!host.ok()) return {};
    const std::vector<double> part = Doubles(*host);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

absl::Status TestModel::Descend(double rate) {
  for (const fsdp::ParamShard& shard : store->shards()) {
    for (int64_t i = 0; i < shard.master.num_elements(); ++i) {
      shard.master.as<float>()[i] -=
          static_cast<float>(rate) * shard.gradient.as<float>()[i];
    }
  }
  OCTET_RETURN_IF_ERROR(store->WeightsChanged());
  return store->ZeroGradients();
}

absl::StatusOr<TestModel> MakeTestModel(
    const LlamaConfig& config, const LlamaOptions& options,
    const fsdp::WholeParamStoreOptions& store, int64_t length,
    const Stream& stream) {
  TestModel test;
  test.stream = stream;
  OCTET_ASSIGN_OR_RETURN(test.store, fsdp::WholeParamStore::Create(
                                         stream, UnitSpecs(config), store));
  OCTET_RETURN_IF_ERROR(InitParams(stream, config, 11, test.store.get()));
  OCTET_ASSIGN_OR_RETURN(
      test.model, Llama::Create(stream, config, options, test.store.get()));
  std::vector<int32_t> tokens(2 * length), targets(2 * length);
  for (int64_t i = 0; i < 2 * length; ++i) {
    tokens[i] = static_cast<int32_t>((i * i + 7 * i + 3) % config.vocab_size);
    targets[i] = static_cast<int32_t>((i * 5 + 1) % config.vocab_size);
  }
  targets[length / 2] = -100;
  OCTET_ASSIGN_OR_RETURN(
      test.tokens,
      octet::testing::ToDevice(stream, MakeTensor(Shape({2, length}), tokens)));
  OCTET_ASSIGN_OR_RETURN(test.targets,
                         octet::testing::ToDevice(
                             stream, MakeTensor(Shape({2, length}), targets)));
  return test;
}

absl::StatusOr<TestModel> MakeTestModel(const LlamaConfig& config,
                                        const std::string& recipe,
                                        DType compute_dtype, int64_t length,
                                        int64_t loss_chunk) {
  LlamaOptions options;
  OCTET_ASSIGN_OR_RETURN(options.recipe, float8::NamedRecipe(recipe));
  options.compute_dtype = compute_dtype;
  options.loss_chunk = loss_chunk;
  return MakeTestModel(config, options, {compute_dtype}, length);
}

}  // namespace octet::models
