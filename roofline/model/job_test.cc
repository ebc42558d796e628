// SPDX-License-Identifier: Apache-2.0

#include "roofline/model/job.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "roofline/model/memory.h"
#include "roofline/model/test_shapes.h"
#include "testing/status_matchers.h"

namespace octet::roofline {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr double kGib = 1 << 30;

// Meta's model card and torchtitan's count.
TEST(ModelShapeTest, ParametersAndFlopsOfLlama3AreExact) {
  EXPECT_EQ(Parameters(Llama8B()), 8030261248.0);
  EXPECT_EQ(Parameters(Llama405B()), 405853388800.0);
  EXPECT_EQ(FlopsPerToken(Llama8B(), 8192), 57914449920.0);
  EXPECT_EQ(LinearParameters(Llama8B()), 6979321856.0);
}

TEST(ModelShapeTest, TiedEmbeddingIsTheHead) {
  ModelShape tied = Llama8B();
  tied.tied = true;
  EXPECT_EQ(Parameters(tied), Parameters(Llama8B()) - 128256.0 * 4096.0);
  EXPECT_EQ(FlopsPerToken(tied, 8192), FlopsPerToken(Llama8B(), 8192));
}

TEST(ModelShapeTest, LinearsHaveAllParameters) {
  double sum = 0.0;
  for (const ModelLinear& linear : ModelLinears(Llama8B(), 8192)) {
    EXPECT_EQ(linear.sizes.m, 8192);
    sum += static_cast<double>(linear.sizes.k) *
           static_cast<double>(linear.sizes.n);
  }
  EXPECT_EQ(sum * 32, LinearParameters(Llama8B()));
}

TEST(ModelShapeTest, RefusesBadSizes) {
  EXPECT_THAT(CheckShape(Llama8B()), IsOk());
  ModelShape shape = Llama8B();
  shape.hidden = -1;
  EXPECT_THAT(CheckShape(shape), StatusIs(kInvalid, HasSubstr("hidden is -1")));
  shape = Llama8B();
  shape.vocab = int64_t{1} << 40;
  EXPECT_THAT(CheckShape(shape), StatusIs(kInvalid, HasSubstr("vocab is")));
  shape = Llama8B();
  shape.kv_heads = 5;
  EXPECT_THAT(CheckShape(shape), StatusIs(kInvalid, HasSubstr("kv_heads, 5")));
}

TEST(ModelJobTest, RefusesBadFields) {
  EXPECT_THAT(CheckJob({}), IsOk());
  ModelJob job;
  job.batch = 0;
  EXPECT_THAT(CheckJob(job), StatusIs(kInvalid, HasSubstr("batch is 0")));
  job = {};
  job.sequence = -8;
  EXPECT_THAT(CheckJob(job), StatusIs(kInvalid, HasSubstr("sequence is -8")));
  job = {};
  job.ranks = 12;
  job.shard_ranks = 8;
  EXPECT_THAT(CheckJob(job),
              StatusIs(kInvalid, HasSubstr("divisor of the ranks, 12")));
  job = {};
  job.state_bytes = 3;
  EXPECT_THAT(CheckJob(job), StatusIs(kInvalid, HasSubstr("state_bytes is 3")));
  job = {};
  job.attention_share = 1.5;
  EXPECT_THAT(CheckJob(job), StatusIs(kInvalid, HasSubstr("attention_share")));
  job = {};
  job.gather = Gather::kNone;
  EXPECT_THAT(CheckJob(job), StatusIs(kInvalid, HasSubstr("gather")));
}

TEST(ModelJobTest, ParsesRecompute) {
  EXPECT_EQ(ParseRecompute("none").value(), Recompute::kNone);
  EXPECT_EQ(ParseRecompute("full").value(), Recompute::kFull);
  EXPECT_THAT(ParseRecompute("some"),
              StatusIs(kInvalid, HasSubstr("none or full")));
}

// Measured on one H200: PyTorch with f32 states and full recompute peaked at
// 123.6 GiB; a C++ trainer with bf16 states and no recompute at 104 GB.
TEST(ModelMemoryTest, IsNearWhatWasMeasured) {
  ModelJob job;
  job.recipe = "bf16";
  job.recompute = Recompute::kFull;
  const ModelMemory f32 = EstimateModelMemory(Llama8B(), job);
  EXPECT_NEAR(f32.master / kGib, 29.92, 0.01);
  EXPECT_EQ(f32.moments, 2 * f32.master);
  EXPECT_EQ(f32.gradients, f32.master);
  // PyTorch's FSDP keeps no bf16 copy of the weights.
  EXPECT_NEAR((f32.total() - f32.weights) / kGib, 123.6, 6.0);
  job = {};
  job.state_bytes = 2;
  const ModelMemory bf16 = EstimateModelMemory(Llama8B(), job);
  EXPECT_NEAR(bf16.total() / 1e9, 104.0, 12.0);
}

TEST(ModelMemoryTest, SlicesOfStatesAndWholeActivations) {
  ModelJob one, eight;
  eight.ranks = 8;
  const ModelMemory a = EstimateModelMemory(Llama8B(), one);
  const ModelMemory b = EstimateModelMemory(Llama8B(), eight);
  EXPECT_EQ(b.master * 8, a.master);
  EXPECT_EQ(b.moments * 8, a.moments);
  EXPECT_EQ(b.activations, a.activations);
  EXPECT_LT(b.weights, a.weights);
  eight.shard_ranks = 4;
  EXPECT_EQ(EstimateModelMemory(Llama8B(), eight).master, 2 * b.master);
}

TEST(ModelMemoryTest, Float8KeepsFewerActivations) {
  const ModelShape s = Llama8B();
  // Of a token and block: 26624 inputs of linear layers, in bf16 and float8.
  EXPECT_EQ(ActivationBytes(s, false),
            2 * 26624 + 4 * 4096 + 2 * 6144 + 4 * 14336 + 128);
  EXPECT_EQ(ActivationBytes(s, true),
            ActivationBytes(s, false) - 26624 + 2 * 4096);
}

}  // namespace
}  // namespace octet::roofline
