// SPDX-License-Identifier: Apache-2.0

#include "train/job_config.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"
#include "train/job_recipe.h"

namespace octet::train {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::Status Toml(const std::string& text) {
  JobConfig config;
  return ApplyToml(text, "job.toml", &config);
}

absl::StatusOr<JobArguments> Parse(const std::vector<std::string>& args) {
  return ParseArguments(args);
}

TEST(JobConfig, ReadsToml) {
  JobConfig config;
  ASSERT_THAT(ApplyToml(R"(
    [training]
    steps = 7
    max_norm = 2        # a whole number where a real one is meant
    [float8]
    recipe = "rowwise"
    filter_fqns = ["lm_head", "wk"]
    forward.fast_accumulation = false
    [checkpoint]
    enable = false
    [data]
    path = "a \"b\"\\c"
  )",
                        "job.toml", &config),
              IsOk());
  EXPECT_EQ(config.training.steps, 7);
  EXPECT_EQ(config.training.max_norm, 2);
  EXPECT_EQ(config.float8.recipe, "rowwise");
  EXPECT_THAT(config.float8.filter_fqns, ElementsAre("lm_head", "wk"));
  EXPECT_THAT(config.float8.overrides,
              ElementsAre(Pair("forward.fast_accumulation", "false")));
  EXPECT_FALSE(config.checkpoint.enable);
  EXPECT_EQ(config.data.path, "a \"b\"\\c");
}

TEST(JobConfig, DumpParsesBackToTheSameJob) {
  JobConfig config;
  config.optimizer.lr = 0.1 + 0.2;
  config.job.description = "two\nlines \"quoted\" \\ \x01";
  config.training.seed = 9007199254740992;
  config.float8.filter_fqns = {};
  ASSERT_THAT(SetKey("float8.dgrad.fast_accumulation", "true", &config),
              IsOk());
  ASSERT_THAT(SetKey("float8.dgrad.fast_accumulation", "false", &config),
              IsOk());
  JobConfig again;
  ASSERT_THAT(ApplyToml(DumpToml(config), "dump", &again), IsOk());
  EXPECT_EQ(DumpToml(again), DumpToml(config));
  EXPECT_EQ(again.optimizer.lr, config.optimizer.lr);
  EXPECT_EQ(again.job.description, config.job.description);
  EXPECT_THAT(Differences(again, config), IsEmpty());
}

TEST(JobConfig, UnknownKeysNameTheLineAndTheNearest) {
  EXPECT_THAT(Toml("[training]\nsteps = 3\nseqlen = 4\n"),
              StatusIs(kInvalid, AllOf(HasSubstr("job.toml:3:"),
                                       HasSubstr("unknown key training.seqlen"),
                                       HasSubstr("training.seq_len"))));
  EXPECT_THAT(Toml("steps = 3"),
              StatusIs(kInvalid, HasSubstr("nearest one is training.steps")));
  EXPECT_THAT(Toml("[optimizer]\nseq_len = 3"),
              StatusIs(kInvalid, HasSubstr("training.seq_len")));
  EXPECT_THAT(Toml("[float8]\nforward.x.dtyp = \"e4m3\""),
              StatusIs(kInvalid, HasSubstr("float8.forward.x.dtype")));
}

TEST(JobConfig, WrongTypesAndRangesAreNamed) {
  EXPECT_THAT(Toml("[training]\nsteps = 1.5"),
              StatusIs(kInvalid, HasSubstr("steps is 1.5")));
  EXPECT_THAT(Toml("[training]\nsteps = \"3\""),
              StatusIs(kInvalid, HasSubstr("is a string, must be a number")));
  EXPECT_THAT(Toml("[checkpoint]\nenable = 1"),
              StatusIs(kInvalid, HasSubstr("must be a boolean")));
  EXPECT_THAT(Toml("[training]\nsteps = 0"),
              StatusIs(kInvalid, HasSubstr("steps is 0, must be in [1, ")));
  EXPECT_THAT(Toml("[optimizer]\nbeta1 = 1"),
              StatusIs(kInvalid, HasSubstr("must be in [0, ")));
  EXPECT_THAT(Toml("[optimizer]\nlr = nan"), StatusIs(kInvalid));
  for (const char* lr : {"1e30", "inf", "-1"}) {
    JobConfig config;
    EXPECT_THAT(SetKey("optimizer.lr", lr, &config),
                StatusIs(kInvalid, HasSubstr("must be in [0, 1000000]")))
        << lr;
  }
  for (const char* steps : {"99999999999999999999", "9007199254740993", "-1"}) {
    JobConfig config;
    EXPECT_THAT(
        SetKey("training.steps", steps, &config),
        StatusIs(kInvalid, HasSubstr("must be in [1, 9007199254740992]")))
        << steps;
  }
  EXPECT_THAT(Toml("[training]\nnonfinite = \"ignore\""),
              StatusIs(kInvalid, HasSubstr("stop, skip")));
  EXPECT_THAT(Toml("[float8]\nfilter_fqns = [1]"), StatusIs(kInvalid));
  EXPECT_THAT(Toml("[float8]\nfilter_fqns = \"lm_head\""),
              StatusIs(kInvalid, HasSubstr("list of strings")));
  EXPECT_THAT(Toml("[training]\nsteps = 1979-05-27"), StatusIs(kInvalid));
  EXPECT_THAT(Toml("[training\n"), StatusIs(kInvalid, HasSubstr("job.toml:1")));
}

TEST(JobArguments, OverridesBeatTheFileInAnyOrder) {
  const std::string path = ::testing::TempDir() + "/job.toml";
  std::ofstream(path) << "[training]\nsteps = 7\nseq_len = 64\n";
  OCTET_ASSERT_OK_AND_ASSIGN(
      const JobArguments a,
      Parse({"--training.steps=9", "--config", path, "--data", "/x*",
             "--device=cpu", "--training.local-batch-size", "3"}));
  EXPECT_EQ(a.config.training.steps, 9);
  EXPECT_EQ(a.config.training.seq_len, 64);
  EXPECT_EQ(a.config.training.local_batch_size, 3);
  EXPECT_EQ(a.config.data.path, "/x*");
  EXPECT_EQ(a.config.job.device, "cpu");
  EXPECT_FALSE(a.help);
}

TEST(JobArguments, Flags) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const JobArguments off,
      Parse({"--checkpoint.no_enable", "--validation.enable", "false",
             "--print_config", "--resume", "--float8.filter_fqns=a,b"}));
  EXPECT_FALSE(off.config.checkpoint.enable);
  EXPECT_FALSE(off.config.validation.enable);
  EXPECT_TRUE(off.config.job.print_config);
  EXPECT_EQ(off.config.checkpoint.resume, "always");
  EXPECT_THAT(off.config.float8.filter_fqns, ElementsAre("a", "b"));
  OCTET_ASSERT_OK_AND_ASSIGN(const JobArguments on,
                             Parse({"--checkpoint.enable", "--help"}));
  EXPECT_TRUE(on.config.checkpoint.enable);
  EXPECT_TRUE(on.help);
}

TEST(JobArguments, Mistakes) {
  EXPECT_THAT(Parse({"train"}), StatusIs(kInvalid, HasSubstr("\"train\"")));
  EXPECT_THAT(Parse({"--training.step=3"}),
              StatusIs(kInvalid, HasSubstr("training.steps")));
  EXPECT_THAT(Parse({"--foo=1"}),
              StatusIs(kInvalid,
                       "unknown key foo; sections are job, model, "
                       "data, optimizer, lr_scheduler, training, "
                       "activation_checkpoint, "
                       "float8, checkpoint, metrics, validation, "
                       "sample"));
  for (const char* device : {"tpu", "cpu:1", ""}) {
    EXPECT_THAT(Parse({absl::StrCat("--device=", device)}),
                StatusIs(kInvalid, HasSubstr("job.device: unknown device '")));
  }
  EXPECT_THAT(Parse({"--device=cuda:99"}), IsOk());  // fails later, if it does
  EXPECT_THAT(Parse({"--data="}), StatusIs(kInvalid, "data.path is empty"));
  EXPECT_THAT(Parse({"--metrics.peak_tflops=-1"}), StatusIs(kInvalid));
  EXPECT_THAT(Parse({"--training.step"}),
              StatusIs(kInvalid, HasSubstr("unknown key")));
  EXPECT_THAT(Parse({"--job.device"}),
              StatusIs(kInvalid, HasSubstr("needs a value")));
  EXPECT_THAT(Parse({"--config", "/no/such.toml"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such")));
  EXPECT_THAT(Parse({"--float8.recipe=tensorwize"}),
              StatusIs(kInvalid, HasSubstr("tensorwise")));
  EXPECT_THAT(Parse({"--training.global_batch_size=12"}),
              StatusIs(kInvalid, AllOf(HasSubstr("12"), HasSubstr("8"))));
  EXPECT_THAT(Parse({"--checkpoint.folder=../x"}), StatusIs(kInvalid));
  EXPECT_THAT(Parse({"--lr_scheduler.decay_ratio=-0.5"}), StatusIs(kInvalid));
}

TEST(JobConfig, DifferencesAreThoseThatChangeTheRun) {
  JobConfig a, b;
  b.metrics.log_freq = 1;
  b.job.dump_folder = "elsewhere";
  EXPECT_THAT(Differences(a, b), IsEmpty());
  b.training.seq_len = 128;
  EXPECT_THAT(Differences(a, b),
              ElementsAre("training.seq_len is 256, was 128"));
}

TEST(MakeRecipe, AppliesFilterAndOverrides) {
  JobConfig config;
  config.float8.filter_fqns = {"wk", "auto_filter_small_kn"};
  ASSERT_THAT(SetKey("float8.forward.fast_accumulation", "false", &config),
              IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const float8::Recipe recipe, MakeRecipe(config));
  EXPECT_EQ(recipe.name, "tensorwise");
  EXPECT_THAT(recipe.filter, ElementsAre("wk"));
  EXPECT_TRUE(recipe.skip_small_layers);
  EXPECT_FALSE(recipe.forward.fast_accumulation);
  ASSERT_THAT(SetKey("float8.forward.x.dtype", "e5m2", &config), IsOk());
  ASSERT_THAT(SetKey("float8.forward.w.dtype", "e5m2", &config), IsOk());
  EXPECT_THAT(MakeRecipe(config), StatusIs(kInvalid));
}

TEST(KeysHelp, HasEveryKeyWithItsDefault) {
  const std::string help = KeysHelp();
  EXPECT_THAT(help, HasSubstr("--training.steps="));
  EXPECT_THAT(help, HasSubstr("--float8.filter_fqns=[\"lm_head\"]"));
  EXPECT_THAT(help, HasSubstr("forward.fast_accumulation"));
}

}  // namespace
}  // namespace octet::train
