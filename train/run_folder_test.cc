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
using ::testing::ElementsAre;
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
  OCTET_ASSERT_OK_AND_ASSIGN(RunFolder folder, OpenRunFolder(config));
  EXPECT_FALSE(HasEarlierRun(folder));
  EXPECT_THAT(ReadJob(folder), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_THAT(WriteJob(&folder, config), IsOk());
  EXPECT_TRUE(HasEarlierRun(folder));
  OCTET_ASSERT_OK_AND_ASSIGN(const JobConfig read, ReadJob(folder));
  EXPECT_EQ(DumpToml(read), DumpToml(config));
}

TEST(RunFolder, MovesAnEarlierRunAndNothingElse) {
  const JobConfig config = Config("move");
  OCTET_ASSERT_OK_AND_ASSIGN(RunFolder folder, OpenRunFolder(config));
  ASSERT_THAT(io::WriteFile(folder.root + "/notes.txt", "mine"), IsOk());
  fs::create_directories(folder.model);
  OCTET_ASSERT_OK_AND_ASSIGN(std::string moved, MoveEarlierRun(&folder));
  EXPECT_THAT(moved, IsEmpty());
  EXPECT_TRUE(fs::exists(folder.model));  // no job.toml: not a run's
  for (int run = 1; run <= 2; ++run) {
    ASSERT_THAT(WriteJob(&folder, config), IsOk());
    ASSERT_THAT(io::WriteFile(folder.metrics, std::to_string(run)), IsOk());
    fs::create_directories(folder.checkpoint + "/step-5");
    OCTET_ASSERT_OK_AND_ASSIGN(moved, MoveEarlierRun(&folder));
    EXPECT_THAT(moved, EndsWith("previous-" + std::to_string(run)));
    EXPECT_TRUE(fs::exists(moved + "/checkpoint/step-5"));
    OCTET_ASSERT_OK_AND_ASSIGN(const std::string text,
                               io::ReadFile(moved + "/metrics.jsonl"));
    EXPECT_EQ(text, std::to_string(run));
    EXPECT_FALSE(HasEarlierRun(folder));
  }
  EXPECT_TRUE(fs::exists(folder.root + "/notes.txt"));
}

TEST(RunFolder, MovesToWholeNamesHoweverTheFolderIsWritten) {
  JobConfig config = Config("names");
  const std::string plain = config.job.dump_folder;
  config.checkpoint.folder = "./deep/checkpoint/";
  for (const char* suffix : {"/", "/.", "//", "/x/../"}) {
    config.job.dump_folder = plain + suffix;
    OCTET_ASSERT_OK_AND_ASSIGN(RunFolder folder, OpenRunFolder(config));
    EXPECT_THAT(folder.root, EndsWith("run_names"));
    ASSERT_THAT(WriteJob(&folder, config), IsOk());
    fs::create_directories(folder.checkpoint + "/step-5");
    OCTET_ASSERT_OK_AND_ASSIGN(const std::string moved,
                               MoveEarlierRun(&folder));
    EXPECT_TRUE(fs::exists(moved + "/job.toml"));
    EXPECT_TRUE(fs::exists(moved + "/deep/checkpoint/step-5"));
  }
}

TEST(RunFolder, TakesNoForeignFileForItsOwn) {
  for (const char* name :
       {"job.toml", "metrics.jsonl", "sample.txt", "model/w", "checkpoint/s"}) {
    const JobConfig config = Config("foreign");
    const std::string path = config.job.dump_folder + "/" + name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << "mine";
    const auto folder = OpenRunFolder(config);
    EXPECT_THAT(folder, StatusIs(absl::StatusCode::kFailedPrecondition));
    EXPECT_THAT(std::string(folder.status().message()),
                HasSubstr(std::string(name).substr(0, 5)));
    EXPECT_FALSE(fs::exists(config.job.dump_folder + "/.octet_run"));
    EXPECT_TRUE(fs::exists(path));
  }
}

TEST(RunFolder, KeepsTheFileThatTheJobCameFrom) {
  JobConfig config = Config("config");
  OCTET_ASSERT_OK_AND_ASSIGN(RunFolder folder, OpenRunFolder(config));
  ASSERT_THAT(WriteJob(&folder, config), IsOk());
  EXPECT_THAT(MoveEarlierRun(&folder, {folder.root + "/./job.toml"}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  // The same job is not written again.
  EXPECT_THAT(WriteJob(&folder, config, {folder.job}), IsOk());
  config.training.steps = 5;
  EXPECT_THAT(WriteJob(&folder, config, {folder.job}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_TRUE(fs::exists(folder.job));
  EXPECT_FALSE(fs::exists(folder.root + "/previous-1"));
}

TEST(RunFolder, IsOneRunsAtATime) {
  const JobConfig config = Config("lock");
  {
    OCTET_ASSERT_OK_AND_ASSIGN(const RunFolder first, OpenRunFolder(config));
    const auto second = OpenRunFolder(config);
    EXPECT_THAT(second, StatusIs(absl::StatusCode::kFailedPrecondition));
    EXPECT_THAT(std::string(second.status().message()),
                HasSubstr("run_lock: wait for it"));
  }
  // Nothing was written: nothing is left.
  EXPECT_FALSE(fs::exists(config.job.dump_folder));
  OCTET_ASSERT_OK_AND_ASSIGN(const RunFolder third, OpenRunFolder(config));
}

TEST(RunFolder, MarksWholeLinesAlone) {
  const JobConfig config = Config("marker");
  fs::create_directories(config.job.dump_folder);
  const std::string path = config.job.dump_folder + "/.octet_run";
  std::ofstream(path) << "a\nmodel\njob.to";
  {
    OCTET_ASSERT_OK_AND_ASSIGN(RunMarker marker,
                               RunMarker::Lock(config.job.dump_folder));
    EXPECT_THAT(marker.names(), ElementsAre("a", "model"));
    ASSERT_THAT(marker.Add({"b", "a"}), IsOk());
  }
  OCTET_ASSERT_OK_AND_ASSIGN(const std::string text, io::ReadFile(path));
  EXPECT_EQ(text, "a\nmodel\nb\n");
}

TEST(RunFolder, RefusesACheckpointFolderOfAnotherUse) {
  JobConfig config = Config("collide");
  for (const char* name :
       {"model", "./model/", "model/checkpoint", "job.toml", "metrics.jsonl",
        "sample.txt", "previous-1", ".octet_run"}) {
    config.checkpoint.folder = name;
    EXPECT_THAT(CheckFolderNames(config),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << name;
    EXPECT_THAT(OpenRunFolder(config),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  config.checkpoint.folder = "models";
  EXPECT_THAT(CheckFolderNames(config), IsOk());
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
