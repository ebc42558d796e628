// SPDX-License-Identifier: Apache-2.0

#include "roofline/model/model.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "roofline/hardware.h"
#include "roofline/model/test_shapes.h"
#include "testing/status_matchers.h"

namespace octet::roofline {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

// Every float8 product at 1300 TFLOP/s, bf16 at 717, memory as a copy.
Hardware Ideal() {
  Hardware h = FindHardware("h200").value();
  for (const char* mode :
       {"tensor_fast", "tensor", "row_fast", "row", "block128", "block1x128"}) {
    h.gemm_flops[mode] = 1300e12;
  }
  h.gemm_flops["bf16"] = 717e12;
  h.gemm_fixed_seconds = {};
  return h;
}

BoundOptions Calibrated() {
  BoundOptions bound;
  bound.rates = Rates::kCalibrated;
  return bound;
}

ModelEstimate Estimate(const ModelJob& job, const Hardware& hardware = Ideal(),
                       const ModelShape& shape = Llama8B()) {
  const auto estimate = EstimateModel(hardware, shape, job, Calibrated());
  EXPECT_THAT(estimate, IsOk());
  return estimate.ok() ? *estimate : ModelEstimate();
}

// The bound for a step of 8192 tokens of Llama 3 8B on an H200 that was made
// by hand from measured rates: linear layers 264 ms at 1300 TFLOP/s, head 36,
// attention 108, elementwise 25, optimizer 53 with f32 states and 27 with bf16.
TEST(ModelTest, AgreesWithTheBoundMadeByHand) {
  ModelJob job;
  const ModelEstimate f32 = Estimate(job);
  EXPECT_NEAR(f32.parts.gemm, 0.264, 0.0264);
  EXPECT_NEAR(f32.parts.head, 0.036, 0.0036);
  EXPECT_NEAR(f32.parts.attention, 0.108, 0.0108);
  EXPECT_NEAR(f32.parts.elementwise, 0.025, 0.0025);
  EXPECT_NEAR(f32.parts.optimizer, 0.053, 0.0053);
  job.state_bytes = 2;
  EXPECT_NEAR(Estimate(job).parts.optimizer, 0.027, 0.0027);
  const double without_casts = f32.seconds - f32.parts.cast;
  EXPECT_NEAR(without_casts, 0.486, 0.0486);
  EXPECT_GT(f32.parts.cast, 0.010);
  EXPECT_LT(f32.parts.cast, 0.050);
}

TEST(ModelTest, PartsAddUpAndRatesFollow) {
  ModelJob job;
  job.ranks = 16;
  job.batch = 2;
  job.microbatches = 3;
  const ModelEstimate e = Estimate(job);
  double sum = 0.0;
  for (const ModelPart& part : ListParts(e.parts)) sum += part.seconds;
  EXPECT_NEAR(sum, e.seconds, 1e-12);
  EXPECT_EQ(e.tokens, 2.0 * 8192 * 3 * 16);
  EXPECT_NEAR(e.tokens_per_second, e.tokens / e.seconds, 1e-6);
  EXPECT_NEAR(e.tokens_per_second_per_gpu * 16, e.tokens_per_second, 1e-6);
  EXPECT_NEAR(e.flops_per_second_per_gpu,
              57914449920.0 * e.tokens_per_second_per_gpu, 1.0);
  EXPECT_NEAR(e.mfu, e.flops_per_second_per_gpu / 989e12, 1e-12);
}

TEST(ModelTest, ListsTheLayersOfABlock) {
  const ModelEstimate e = Estimate({});
  EXPECT_THAT(e.layers, ElementsAre(Field(&ModelLayer::name, "qkv"),
                                    Field(&ModelLayer::name, "o"),
                                    Field(&ModelLayer::name, "gate_up"),
                                    Field(&ModelLayer::name, "down")));
  for (const ModelLayer& layer : e.layers) {
    EXPECT_TRUE(layer.is_float8) << layer.name;
    EXPECT_GT(layer.speedup(), 1.1) << layer.name;
    EXPECT_LT(layer.speedup(), 1300.0 / 717.0) << layer.name;
  }
}

TEST(ModelTest, SlowerLayersCanStayInBf16) {
  ModelJob job;
  job.sequence = 16;
  const ModelEstimate all = Estimate(job);
  EXPECT_LT(all.layers[0].speedup(), 1.0);
  EXPECT_TRUE(all.layers[0].is_float8);
  job.only_faster = true;
  const ModelEstimate some = Estimate(job);
  EXPECT_FALSE(some.layers[0].is_float8);
  EXPECT_LT(some.seconds, all.seconds);
  job.recipe = "bf16";
  EXPECT_LE(some.seconds, Estimate(job).seconds);
}

TEST(ModelTest, Bf16CastsNothing) {
  ModelJob job;
  job.recipe = "bf16";
  const ModelEstimate bf16 = Estimate(job);
  EXPECT_EQ(bf16.parts.cast, 0.0);
  EXPECT_NEAR(bf16.parts.gemm, 343.1e12 / 717e12, 0.01);
  EXPECT_GT(bf16.seconds, Estimate({}).seconds);
}

TEST(ModelTest, RecomputeAddsAForwardPass) {
  ModelJob job;
  const ModelEstimate none = Estimate(job);
  job.recompute = Recompute::kFull;
  const ModelEstimate full = Estimate(job);
  EXPECT_NEAR(full.parts.gemm / none.parts.gemm, 4.0 / 3.0, 0.01);
  EXPECT_NEAR(full.parts.attention / none.parts.attention, 4.0 / 3.0, 0.01);
  EXPECT_EQ(full.flops_per_token, none.flops_per_token);
  EXPECT_EQ(full.parts.head, none.parts.head);
  EXPECT_LT(full.memory.activations, none.memory.activations / 3);
}

TEST(ModelTest, FusedProducersCastForLess) {
  ModelJob job;
  const double fused = Estimate(job).parts.cast;
  job.fused_producer = false;
  EXPECT_GT(Estimate(job).parts.cast, fused * 1.1);
}

TEST(ModelTest, OneGpuSendsNothing) {
  const ModelEstimate e = Estimate({});
  EXPECT_EQ(e.parts.communication, 0.0);
  EXPECT_EQ(e.hidden_communication, 0.0);
}

TEST(ModelTest, NvlinkHidesBehindABlockOfAnEightBillionModel) {
  ModelJob job;
  job.ranks = 8;
  const ModelEstimate e = Estimate(job);
  EXPECT_GT(e.hidden_communication, 0.05);
  EXPECT_LT(e.parts.communication, 0.05 * e.seconds);
}

double Communication(const ModelEstimate& e) {
  return e.parts.communication + e.hidden_communication;
}

TEST(ModelTest, ThousandsOfGpusTalkMoreAndFp8OnTheWireHelps) {
  ModelJob job;
  job.ranks = 8;
  const ModelEstimate node = Estimate(job);
  job.ranks = 4096;
  const ModelEstimate bf16_wire = Estimate(job);
  EXPECT_GT(Communication(bf16_wire), 1.5 * Communication(node));
  EXPECT_GT(bf16_wire.parts.communication, 2.0 * node.parts.communication);
  EXPECT_LT(bf16_wire.tokens_per_second_per_gpu,
            node.tokens_per_second_per_gpu);
  job.gather = Gather::kFp8;
  const ModelEstimate fp8_wire = Estimate(job);
  EXPECT_LT(fp8_wire.seconds, bf16_wire.seconds);
  // Two gathers of each of 32 blocks, less by half of
  // 436 MB, an eighth of that by each card at 40 GB/s; an all-reduce more.
  EXPECT_NEAR(Communication(bf16_wire) - Communication(fp8_wire), 0.0433,
              0.001);
}

TEST(ModelTest, ShortPassesCannotHideTheNetwork) {
  ModelJob job;
  job.sequence = 1024;
  job.ranks = 4096;
  const ModelEstimate e = Estimate(job);
  EXPECT_GT(e.parts.communication, 0.5 * e.seconds);
  // Copies in each node keep the gathers on NVLink, and the states whole.
  job.shard_ranks = 8;
  const ModelEstimate copies = Estimate(job);
  EXPECT_LT(copies.seconds, e.seconds);
  EXPECT_NEAR(copies.memory.master, e.memory.master * 512, 1.0);
}

TEST(ModelTest, TiedHeadHasFewerParameters) {
  ModelShape shape = Llama8B();
  shape.tied = true;
  const ModelEstimate e = Estimate({}, Ideal(), shape);
  EXPECT_EQ(e.parameters, 8030261248.0 - 128256.0 * 4096.0);
  // The head is multiplied all the same.
  EXPECT_NEAR(e.parts.head, Estimate({}).parts.head, 1e-6);
}

TEST(ModelTest, EveryRecipeOfTheHopperCard) {
  for (const char* recipe : {"bf16", "tensorwise", "tensorwise_delayed",
                             "rowwise", "rowwise_gw_hp", "blockwise"}) {
    ModelJob job;
    job.recipe = recipe;
    job.ranks = 8;
    const ModelEstimate e = Estimate(job, FindHardware("h200").value());
    EXPECT_GT(e.tokens_per_second_per_gpu, 8000.0) << recipe;
    EXPECT_LT(e.tokens_per_second_per_gpu, 17000.0) << recipe;
  }
}

TEST(ModelTest, HugeModelsDoNotOverflow) {
  ModelJob job;
  job.batch = 1 << 14;
  job.sequence = 1 << 20;
  job.ranks = 1 << 20;
  const ModelShape shape = {10000,  1 << 20, 1 << 13, 1 << 13,
                            1 << 7, 1 << 22, 1 << 20, false};
  const ModelEstimate e = Estimate(job, Ideal(), shape);
  EXPECT_GT(e.seconds, 1e9);
  EXPECT_GT(e.tokens_per_second, 0.0);
  EXPECT_FALSE(e.fits);
}

TEST(ModelTest, RefusesWhatCannotBe) {
  const auto run = [](const Hardware& hardware, const ModelShape& shape,
                      const ModelJob& job) {
    return EstimateModel(hardware, shape, job, Calibrated()).status();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  ModelShape shape = Llama8B();
  shape.layers = 0;
  EXPECT_THAT(run(Ideal(), shape, {}),
              StatusIs(kInvalid, HasSubstr("layers is 0")));
  ModelJob job;
  job.recipe = "foo";
  EXPECT_THAT(run(Ideal(), Llama8B(), job),
              StatusIs(kInvalid, HasSubstr("\"foo\"; there are: bf16")));
  job = {};
  job.ranks = 16;
  Hardware alone = Ideal();
  alone.network_rate = 0;
  EXPECT_THAT(run(alone, Llama8B(), job),
              StatusIs(kInvalid, HasSubstr("network_gigabytes_per_second")));
  // No float8 on an A100.
  EXPECT_THAT(run(FindHardware("A100").value(), Llama8B(), {}),
              StatusIs(kInvalid, HasSubstr("A100")));
}

}  // namespace
}  // namespace octet::roofline
