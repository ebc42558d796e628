// SPDX-License-Identifier: Apache-2.0

#include "train/run_folder.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/atomic_file.h"
#include "io/file.h"
#include "testing/status_matchers.h"

namespace octet::train {
namespace {

namespace fs = std::filesystem;
using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

JobConfig Config(const std::string& name) {
  JobConfig config;
  config.job.dump_folder = ::testing::TempDir() + "/run_" + name;
  fs::remove_all(config.job.dump_folder);
  return config;
}

TEST(RunFolder, KeepsTheJob) {
  JobConfig config = Config("job");
  config.training.steps = 77;
  OCTET_ASSERT_OK_AND_ASSIGN(const RunFolder folder, OpenRunFolder(config));
  EXPECT_FALSE(HasEarlierRun(folder));
  EXPECT_THAT(ReadJob(folder), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_THAT(WriteJob(folder, config), IsOk());
  EXPECT_TRUE(HasEarlierRun(folder));
  OCTET_ASSERT_OK_AND_ASSIGN(const JobConfig read, ReadJob(folder));
  EXPECT_EQ(DumpToml(read), DumpToml(config));
}

TEST(RunFolder, MovesAnEarlierRunAndNothingElse) {
  const JobConfig config = Config("move");
  OCTET_ASSERT_OK_AND_ASSIGN(const RunFolder folder, OpenRunFolder(config));
  ASSERT_THAT(io::WriteFile(folder.root + "/notes.txt", "mine"), IsOk());
  fs::create_directories(folder.model);
  OCTET_ASSERT_OK_AND_ASSIGN(std::string moved, MoveEarlierRun(folder));
  EXPECT_THAT(moved, IsEmpty());
  EXPECT_TRUE(fs::exists(folder.model));  // no job.toml: not a run's
  for (int run = 1; run <= 2; ++run) {
    ASSERT_THAT(WriteJob(folder, config), IsOk());
    ASSERT_THAT(io::WriteFile(folder.metrics, std::to_string(run)), IsOk());
    fs::create_directories(folder.checkpoint + "/step-5");
    OCTET_ASSERT_OK_AND_ASSIGN(moved, MoveEarlierRun(folder));
    EXPECT_THAT(moved, EndsWith("previous-" + std::to_string(run)));
    EXPECT_TRUE(fs::exists(moved + "/checkpoint/step-5"));
    OCTET_ASSERT_OK_AND_ASSIGN(const std::string text,
                               io::ReadFile(moved + "/metrics.jsonl"));
    EXPECT_EQ(text, std::to_string(run));
    EXPECT_FALSE(HasEarlierRun(folder));
  }
  EXPECT_TRUE(fs::exists(folder.root + "/notes.txt"));
}

TEST(RunFolder, SaysWhereItCannotWrite) {
  JobConfig config = Config("file");
  std::ofstream(config.job.dump_folder) << "a file";
  EXPECT_FALSE(OpenRunFolder(config).ok());
  config.job.dump_folder += "/below";
  const auto below = OpenRunFolder(config);
  EXPECT_THAT(std::string(below.status().message()), HasSubstr("/below"));
}

}  // namespace
}  // namespace octet::train
