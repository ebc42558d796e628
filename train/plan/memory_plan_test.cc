// SPDX-License-Identifier: Apache-2.0

#include "train/plan/memory_plan.h"

#include <filesystem>
#include <fstream>
#include <string>

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

TEST(EstimateMemory, CountsEveryState) {
  JobConfig job;
  const models::LlamaConfig tiny = Preset("tiny");
  const double parameters = models::NumParameters(tiny);
  const MemoryNeeds bf16 = EstimateMemory(job, tiny);
  EXPECT_EQ(bf16.weights, 18 * parameters);
  job.training.mixed_precision_param = "float32";
  const MemoryNeeds f32 = EstimateMemory(job, tiny);
  EXPECT_EQ(f32.weights, 16 * parameters);
  EXPECT_GT(f32.activations, 1.9 * bf16.activations);
  job.training.local_batch_size *= 2;
  EXPECT_GT(EstimateMemory(job, tiny).activations, 1.9 * f32.activations);
  // Accumulation takes no more.
  job.training.global_batch_size = 64;
  const double before = EstimateMemory(job, tiny).total();
  job.training.global_batch_size = 640;
  EXPECT_EQ(EstimateMemory(job, tiny).total(), before);
}

// The model's own plan is the oracle: a job that is refused cannot run.
TEST(EstimateMemory, ActivationsAreNoMoreThanTheModelTakes) {
  JobConfig job;
  const models::LlamaConfig tiny = Preset("tiny");
  for (const char* recipe : {"bf16", "tensorwise", "mxfp8"}) {
    models::LlamaOptions options;
    OCTET_ASSERT_OK_AND_ASSIGN(options.recipe, float8::NamedRecipe(recipe));
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
    const double estimated = EstimateMemory(job, tiny).activations;
    EXPECT_LE(estimated, llama->activation_bytes()) << recipe;
    EXPECT_GE(estimated, 0.5 * llama->activation_bytes()) << recipe;
  }
}

TEST(CheckMemory, NamesBothNumbersAndWhatToChange) {
  EXPECT_THAT(CheckMemory({6 * kGib, 0.1 * kGib}, 23.4 * kGib).value(),
              AllOf(HasSubstr("6.10 GiB"), HasSubstr("machine has 23.4 GiB")));
  EXPECT_THAT(CheckMemory({6 * kGib, 3 * kGib}, 8 * kGib),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("memory needs 9.00 GiB"),
                             HasSubstr("machine has 8.0 GiB"),
                             HasSubstr("smaller training.local_batch_size"))));
  EXPECT_THAT(CheckMemory(EstimateMemory({}, Preset("405B")), 1024 * kGib),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("choose a smaller model.flavor")));
}

class AvailableMemoryTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(
        std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  ~AvailableMemoryTest() override { std::filesystem::remove_all(root_); }

  std::string root_ =
      ::testing::TempDir() + "/memory_" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(AvailableMemoryTest, IsTheLowestOfMachineAndControlGroups) {
  EXPECT_THAT(AvailableMemory(root_), StatusIs(absl::StatusCode::kNotFound));
  Write("/proc/meminfo", "MemTotal: 900 kB\nMemAvailable:   800 kB\n");
  EXPECT_EQ(AvailableMemory(root_).value(), 800 * 1024);
  Write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(AvailableMemory(root_).value(), 800 * 1024);
  Write("/proc/self/cgroup", "4:memory:/box\n0::/box/inner\n");
  Write("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "700000\n");
  EXPECT_EQ(AvailableMemory(root_).value(), 700000);
  Write("/sys/fs/cgroup/box/inner/memory.max", "600000\n");
  EXPECT_EQ(AvailableMemory(root_).value(), 600000);
  Write("/sys/fs/cgroup/memory.max", "500000\n");
  EXPECT_EQ(AvailableMemory(root_).value(), 500000);
}

TEST(AvailableMemory, OfThisMachine) {
  EXPECT_GT(AvailableMemory().value(), 1 << 20);
}

}  // namespace
}  // namespace octet::train
