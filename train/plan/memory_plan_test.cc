// SPDX-License-Identifier: Apache-2.0

#include "train/plan/memory_plan.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/recipe.h"
#include "fsdp/whole_param_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/llama/model.h"
#include "models/llama/params.h"
#include "testing/status_matchers.h"

namespace octet::train {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kGib = 1 << 30;

models::LlamaConfig Preset(const char* name) {
  return models::LlamaPresetConfig(name).value();
}

MemoryPlan Plan(const JobConfig& job, const models::LlamaConfig& model,
                DeviceKind device = DeviceKind::kCpu,
                std::optional<double> available = std::nullopt) {
  return PlanMemory(job, model, device, available).value();
}

// Gradients with memory of their own.
JobConfig Accumulating() {
  JobConfig job;
  job.training.global_batch_size = 2 * job.training.local_batch_size;
  return job;
}

TEST(PlanMemory, CountsEveryState) {
  JobConfig job = Accumulating();
  job.float8.recipe = "bf16";
  const models::LlamaConfig tiny = Preset("tiny");
  const double parameters = models::NumParameters(tiny);
  EXPECT_EQ(Plan(job, tiny).needs.weights, 18 * parameters);
  job.training.mixed_precision_param = "float32";
  EXPECT_EQ(Plan(job, tiny).needs.weights, 16 * parameters);
  job.training.mixed_precision_param = "bfloat16";
  job.training.dtype = job.training.gradient_dtype = "bfloat16";
  job.optimizer.state_dtype = "bfloat16";
  // Norms have f32 masters and gradients, and a copy.
  const double norms = (2 * tiny.num_layers + 1) * tiny.hidden_size;
  EXPECT_EQ(Plan(job, tiny).needs.weights, 8 * parameters + 6 * norms);
  // Accumulation takes no more.
  const double before = Plan(job, tiny).needs.total();
  job.training.global_batch_size = 640;
  EXPECT_EQ(Plan(job, tiny).needs.total(), before);
}

// The model's own allocation is the oracle.
TEST(PlanMemory, ActivationsAreWhatTheModelTakes) {
  const models::LlamaConfig tiny = Preset("tiny");
  for (const char* mode : {"none", "selective", "full"}) {
    JobConfig job = Accumulating();
    job.float8.recipe = "bf16";
    job.activation_checkpoint.mode = mode;
    const MemoryPlan plan = Plan(job, tiny);
    OCTET_ASSERT_OK_AND_ASSIGN(const models::LlamaOptions options,
                               MakeLlamaOptions(job, plan));
    OCTET_ASSERT_OK_AND_ASSIGN(const Stream stream, Stream::Create(Device{}));
    OCTET_ASSERT_OK_AND_ASSIGN(
        const auto store,
        fsdp::WholeParamStore::Create(stream, models::UnitSpecs(tiny),
                                      {options.compute_dtype}));
    OCTET_ASSERT_OK_AND_ASSIGN(
        const auto llama,
        models::Llama::Create(stream, tiny, options, store.get()));
    const Shape shape({job.training.local_batch_size, job.training.seq_len});
    OCTET_ASSERT_OK_AND_ASSIGN(const Tensor tokens,
                               Tensor::Zeros(stream, DType::kI32, shape));
    ASSERT_THAT(llama->Loss(tokens, tokens), IsOk());
    EXPECT_EQ(plan.needs.activations, llama->activation_bytes()) << mode;
  }
}

TEST(PlanMemory, GradientsLieOverActivationsWithoutAccumulation) {
  JobConfig job;
  job.training.local_batch_size = 1;
  job.training.seq_len = 8192;
  job.training.gradient_dtype = "bfloat16";
  const models::LlamaConfig big = Preset("8B");
  const MemoryPlan once = Plan(job, big, DeviceKind::kCuda);
  job.training.global_batch_size = 2;
  const MemoryPlan accumulating = Plan(job, big, DeviceKind::kCuda);
  EXPECT_TRUE(once.overlays_gradients);
  EXPECT_FALSE(accumulating.overlays_gradients);
  // All blocks' but the last one's.
  const double block =
      2 * (2 * 4096 * 4096 + 2 * 1024 * 4096 + 3 * 4096 * 14336.0);
  EXPECT_NEAR(accumulating.needs.total() - once.needs.total(), 31 * block, 1e6);
}

// The tightest job that one GPU of 139.8 GiB is meant for.
TEST(PlanMemory, AutoTakesTheFastestThatFits) {
  JobConfig job;
  job.training.local_batch_size = 1;
  job.training.global_batch_size = 2;
  job.training.seq_len = 8192;
  job.training.gradient_dtype = "bfloat16";
  const models::LlamaConfig big = Preset("8B");
  const auto plan = [&](double gib) {
    return Plan(job, big, DeviceKind::kCuda, gib * kGib);
  };
  const MemoryPlan all = plan(1000);
  EXPECT_FALSE(all.transient_weights);
  EXPECT_EQ(DescribeKeep(all.keep), "keeps all activations");
  double last = all.needs.total();
  int64_t last_kept = 32;
  for (const double gib : {150.0, 139.0, 134.0, 128.0}) {
    const MemoryPlan tight = plan(gib);
    EXPECT_TRUE(tight.transient_weights);
    EXPECT_LE(tight.needs.total(), gib * kGib);
    EXPECT_LE(tight.needs.total(), last);
    const int64_t kept =
        std::count(tight.keep.begin(), tight.keep.end(), models::Keep::kAll);
    EXPECT_LE(kept, last_kept);
    last = tight.needs.total();
    last_kept = kept;
  }
  EXPECT_LT(last_kept, 32);
  // Too small for any: the smallest, for CheckMemory to refuse.
  EXPECT_EQ(DescribeKeep(plan(10).keep), "recomputes 32 of 32 layers");
  // In high precision the copies are what is multiplied.
  job.float8.recipe = "bf16";
  EXPECT_FALSE(plan(10).transient_weights);
}

TEST(CheckMemory, NamesBothNumbersAndWhatToChange) {
  MemoryPlan plan;
  plan.keep = {models::Keep::kAttention, models::Keep::kAll};
  plan.needs = {5.5 * kGib, 0.5 * kGib, 0.1 * kGib, 0};
  EXPECT_THAT(CheckMemory(plan, 23.4 * kGib).value(),
              AllOf(HasSubstr("6.10 GiB"), HasSubstr("23.4 GiB are free"),
                    HasSubstr("recomputes the MLP of 1 of 2 layers")));
  plan.needs.activations = 3 * kGib;
  EXPECT_THAT(CheckMemory(plan, 8 * kGib),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("memory needs 9.00 GiB"),
                             HasSubstr("8.0 GiB are free"),
                             HasSubstr("smaller training.local_batch_size"))));
  EXPECT_THAT(CheckMemory(Plan({}, Preset("405B")), 1024 * kGib),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("choose a smaller model.flavor")));
}

}  // namespace
}  // namespace octet::train
