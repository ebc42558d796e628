// SPDX-License-Identifier: Apache-2.0

// The model against transformers: logits, loss and every gradient in f32.
#include "testing/goldens.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "fsdp/whole_param_store.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "models/llama/hf.h"
#include "models/llama/model.h"
#include "models/llama/params.h"
#include "testing/status_matchers.h"

namespace octet::models {
namespace {

using octet::testing::IsOk;

constexpr double kTolerance = 1e-4;

class GoldensTest : public ::testing::TestWithParam<std::string> {};

// Columns [begin, begin + length) of the first step's batch.
Tensor Window(const TensorView& tokens, int64_t begin) {
  const int64_t batch = tokens.shape().dim(1);
  const int64_t length = tokens.shape().dim(2) - 1;
  std::vector<int32_t> ids;
  for (int64_t row = 0; row < batch; ++row) {
    const int32_t* from = tokens.as<int32_t>() + row * (length + 1) + begin;
    ids.insert(ids.end(), from, from + length);
  }
  return MakeTensor(Shape({batch, length}), ids);
}

TEST_P(GoldensTest, LogitsLossAndGradientsMatchTransformers) {
  const std::string folder = octet::testing::GoldenPath(GetParam());
  OCTET_ASSERT_OK_AND_ASSIGN(const LlamaConfig config, ReadHfConfig(folder));
  OCTET_ASSERT_OK_AND_ASSIGN(
      auto store, fsdp::WholeParamStore::Create(Stream(), UnitSpecs(config),
                                                {DType::kF32}));
  ASSERT_THAT(LoadHfWeights(Stream(), folder, config, store.get()), IsOk());
  LlamaOptions options;
  options.compute_dtype = DType::kF32;
  OCTET_ASSERT_OK_AND_ASSIGN(
      auto model, Llama::Create(Stream(), config, options, store.get()));
  OCTET_ASSERT_OK_AND_ASSIGN(
      const io::SafetensorsFile expected,
      octet::testing::LoadGolden(GetParam() + "/expected.safetensors"));

  OCTET_ASSERT_OK_AND_ASSIGN(const TensorView tokens, expected.Find("tokens"));
  const Tensor inputs = Window(tokens, 0);
  const Tensor targets = Window(tokens, 1);
  OCTET_ASSERT_OK_AND_ASSIGN(const TensorView expected_logits,
                             expected.Find("logits"));
  const Tensor logits = MakeZeros(DType::kF32, expected_logits.shape());
  ASSERT_THAT(model->Logits(inputs, logits), IsOk());
  EXPECT_LT(ErrorOf(Doubles(logits), Doubles(expected_logits)), kTolerance);

  OCTET_ASSERT_OK_AND_ASSIGN(const TensorView expected_loss,
                             expected.Find("loss"));
  const double count = static_cast<double>(inputs.num_elements());
  OCTET_ASSERT_OK_AND_ASSIGN(
      const double loss, model->ForwardBackward(inputs, targets, 1.0 / count));
  EXPECT_NEAR(loss / count, Doubles(expected_loss)[0], 1e-5);
  for (const fsdp::ParamShard& shard : store->shards()) {
    OCTET_ASSERT_OK_AND_ASSIGN(const TensorView gradient,
                               expected.Find("grad." + shard.name));
    EXPECT_LT(ErrorOf(Doubles(shard.gradient), Doubles(gradient)), kTolerance)
        << shard.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, GoldensTest,
                         ::testing::Values("llama_gqa", "llama_tied_sharded",
                                           "llama_rope_scaled"));

}  // namespace
}  // namespace octet::models
