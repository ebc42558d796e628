// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/philox.h"
#include "io/atomic_file.h"
#include "io/file.h"
#include "testing/status_matchers.h"
#include "testing/temp_folder.h"

namespace octet::train {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::octet::testing::TempFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

struct State {  // A small model's, all of one value.
  explicit State(float value)
      : w(12, value), m(12, 2.0f * value), history(4, value), scalar(value) {}

  std::vector<CheckpointTensor> Master() {
    return {{"w", TensorView(w.data(), DType::kF32, Shape({4, 3}))},
            {"norm", TensorView(&scalar, DType::kF32, Shape({}))},
            {"none", TensorView(nullptr, DType::kF32, Shape({0, 3}))}};
  }
  std::vector<CheckpointTensor> Adam() {
    return {{"w", TensorView(m.data(), DType::kF32, Shape({4, 3}))}};
  }
  std::vector<CheckpointTensor> Recipe() {
    return {{"w.amax_history",
             TensorView::Of(absl::MakeSpan(history), DType::kF32)}};
  }
  Checkpoint At(int64_t step) {
    Checkpoint checkpoint;
    checkpoint.step = step;
    checkpoint.groups = {
        {"master", Master()}, {"adam_m", Adam()}, {"recipe", Recipe()}};
    checkpoint.state = {{"tokens_seen", step * 4096},
                        {"seed", 18446744073709551615u},
                        {"learning_rate", 0.1},
                        {"loss", std::nan("")},
                        {"schedule", {{"kind", "cosine"}}}};
    return checkpoint;
  }

  std::vector<float> w;
  std::vector<float> m;
  std::vector<float> history;
  float scalar;
};

// Restores everything of `path` and expects `value` all over.
void ExpectHolds(const std::string& path, float value) {
  OCTET_ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint loaded,
                             LoadCheckpoint(path));
  State state(-1.0f);
  ASSERT_THAT(loaded.Restore(Stream(), "master", state.Master()), IsOk());
  ASSERT_THAT(loaded.Restore(Stream(), "adam_m", state.Adam()), IsOk());
  ASSERT_THAT(loaded.Restore(Stream(), "recipe", state.Recipe()), IsOk());
  EXPECT_THAT(state.w, Each(value));
  EXPECT_THAT(state.m, Each(2.0f * value));
  EXPECT_THAT(state.history, Each(value));
  EXPECT_EQ(state.scalar, value);
}

class CheckpointTest : public ::testing::Test {
 protected:
  void Save(int64_t step, int64_t keep = 0) {
    CheckpointOptions options;
    options.keep = keep;
    OCTET_ASSERT_OK_AND_ASSIGN(
        const SavedCheckpoint saved,
        SaveCheckpoint(dir_, State(step).At(step), options));
    messages_ = saved.messages;
    EXPECT_EQ(saved.path, folder_.Join(absl::StrCat("step-", step)));
  }

  TempFolder folder_;
  std::string dir_ = folder_.path();
  std::vector<std::string> messages_;
};

TEST_F(CheckpointTest, ComesBackWhole) {
  Save(7);
  EXPECT_THAT(messages_, IsEmpty());
  EXPECT_THAT(folder_.List(), ElementsAre("step-7"));
  OCTET_ASSERT_OK_AND_ASSIGN(const FoundCheckpoint found, FindLatest(dir_));
  EXPECT_EQ(found.step, 7);
  EXPECT_THAT(found.skipped, IsEmpty());
  ExpectHolds(found.path, 7.0f);
  OCTET_ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint loaded,
                             LoadCheckpoint(found.path));
  EXPECT_EQ(loaded.step(), 7);
  EXPECT_EQ(loaded.state()["tokens_seen"], 7 * 4096);
  EXPECT_EQ(loaded.state()["seed"], 18446744073709551615u);
  EXPECT_EQ(loaded.state()["learning_rate"].get<double>(), 0.1);
  EXPECT_EQ(loaded.state()["schedule"]["kind"], "cosine");
  EXPECT_TRUE(loaded.state()["loss"].is_null());
}

TEST_F(CheckpointTest, CreatesFoldersAndReplacesTheSameStep) {
  const std::string deep = folder_.Join("a/b");
  ASSERT_THAT(SaveCheckpoint(deep, State(1.0f).At(5)), IsOk());
  ASSERT_THAT(SaveCheckpoint(deep, State(2.0f).At(5)), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const FoundCheckpoint found, FindLatest(deep));
  EXPECT_THAT(found.skipped, IsEmpty());
  ExpectHolds(found.path, 2.0f);
}

// Case 89 (pytorch/torchtitan#4191, #366, NVIDIA-NeMo/Speech#52).
TEST_F(CheckpointTest, TheLatestIsTheLargestCompleteStep) {
  for (const int64_t step : {200, 90}) Save(step);
  ASSERT_EQ(mkdir(folder_.Join("step-1000").c_str(), 0777), 0);
  ASSERT_EQ(mkdir(folder_.Join("step-2000.tmp").c_str(), 0777), 0);
  ASSERT_EQ(mkdir(folder_.Join("step-0300").c_str(), 0777), 0);
  ASSERT_THAT(io::WriteFile(folder_.Join("notes.txt"), "mine"), IsOk());
  // The older step is the newer folder.
  const utimbuf past = {1000, 1000};
  ASSERT_EQ(utime(folder_.Join("step-200").c_str(), &past), 0);
  OCTET_ASSERT_OK_AND_ASSIGN(const FoundCheckpoint found, FindLatest(dir_));
  EXPECT_EQ(found.step, 200);
  EXPECT_THAT(
      found.skipped,
      UnorderedElementsAre(
          HasSubstr("notes.txt: not a checkpoint"),
          HasSubstr("step-0300: not a checkpoint"),
          AllOf(HasSubstr("step-1000: "), HasSubstr("no manifest.json")),
          HasSubstr("step-2000.tmp: an interrupted save")));
}

TEST_F(CheckpointTest, NoneIsNotFound) {
  EXPECT_THAT(FindLatest(folder_.Join("none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none")));
  ASSERT_EQ(mkdir(folder_.Join("step-3").c_str(), 0777), 0);
  EXPECT_THAT(FindLatest(dir_),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(dir_), HasSubstr("step-3"))));
  EXPECT_THAT(LoadCheckpoint(folder_.Join("step-9")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("step-9")));
}

// Case 89 (pytorch/torchtitan#4197).
TEST_F(CheckpointTest, PruningKeepsTheNewestAndWhatIsNotOurs) {
  ASSERT_THAT(io::WriteFile(folder_.Join("notes.txt"), "mine"), IsOk());
  ASSERT_EQ(mkdir(folder_.Join("step-1000").c_str(), 0777), 0);
  for (const int64_t step : {9, 10, 100}) Save(step);
  ASSERT_THAT(io::WriteFile(folder_.Join("step-9/why.txt"), "good"), IsOk());
  Save(110, /*keep=*/2);
  EXPECT_THAT(folder_.List(), ElementsAre("notes.txt", "step-100", "step-1000",
                                          "step-110", "step-9"));
  EXPECT_THAT(messages_, Contains(HasSubstr("why.txt")));
  ExpectHolds(folder_.Join("step-9"), 9.0f);
  Save(120, /*keep=*/1);
  EXPECT_THAT(folder_.List(),
              ElementsAre("notes.txt", "step-1000", "step-120", "step-9"));
}

// Case 89: the only complete one is never pruned.
TEST_F(CheckpointTest, TheOneJustSavedStays) {
  Save(500);
  Save(20, /*keep=*/1);
  EXPECT_THAT(folder_.List(), ElementsAre("step-20"));
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("step-500")));
  ExpectHolds(folder_.Join("step-20"), 20.0f);
}

TEST_F(CheckpointTest, OlderInterruptedSavesAreSwept) {
  for (const char* name : {"step-3.tmp", "step-4.tmp", "step-70.tmp"}) {
    ASSERT_EQ(mkdir(folder_.Join(name).c_str(), 0777), 0);
  }
  ASSERT_THAT(
      io::WriteFile(folder_.Join("step-3.tmp/manifest.json.1a2b3c.tmp"), ""),
      IsOk());
  ASSERT_THAT(io::WriteFile(folder_.Join("step-4.tmp/mine"), ""), IsOk());
  Save(50);
  EXPECT_THAT(folder_.List(),
              ElementsAre("step-4.tmp", "step-50", "step-70.tmp"));
}

TEST_F(CheckpointTest, ForeignFilesAreNotReplaced) {
  Save(5);
  ASSERT_THAT(io::WriteFile(folder_.Join("step-5/mine"), ""), IsOk());
  EXPECT_THAT(
      SaveCheckpoint(dir_, State(1.0f).At(5)),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("mine in it")));
  ExpectHolds(folder_.Join("step-5"), 5.0f);
  EXPECT_THAT(folder_.List(), ElementsAre("step-5"));
}

// Case 91 (osaurus-ai/vmlx-swift#217, lyogavin/airllm#137).
TEST_F(CheckpointTest, DamageIsDataLossAndNamesTheFile) {
  Save(1);
  Save(2);
  for (const char* file : {"adam_m.safetensors", "master.safetensors",
                           "recipe.safetensors", "manifest.json"}) {
    const std::string path = folder_.Join(absl::StrCat("step-2/", file));
    const std::string whole = io::ReadFile(path).value();
    std::vector<std::string> damaged = {whole.substr(0, whole.size() - 1),
                                        whole.substr(0, whole.size() / 2),
                                        whole.substr(0, 8), "", whole + " "};
    for (size_t i = 0; i < whole.size(); i += 13) {
      damaged.push_back(whole);
      damaged.back()[i] ^= 1 << i % 7;
    }
    for (const std::string& text : damaged) {
      ASSERT_THAT(io::WriteFile(path, text), IsOk());
      EXPECT_THAT(LoadCheckpoint(folder_.Join("step-2")),
                  StatusIs(kDataLoss, HasSubstr(path)));
      if (text.size() != whole.size()) {
        EXPECT_EQ(FindLatest(dir_).value().step, 1);
      }
    }
    ASSERT_EQ(unlink(path.c_str()), 0);
    EXPECT_THAT(LoadCheckpoint(folder_.Join("step-2")),
                StatusIs(kDataLoss, HasSubstr(file)));
    EXPECT_EQ(FindLatest(dir_).value().step, 1);
    ASSERT_THAT(io::WriteFile(path, whole), IsOk());
  }
  ExpectHolds(folder_.Join("step-2"), 2.0f);
}

TEST_F(CheckpointTest, ARenamedFolderIsNotTaken) {
  Save(1);
  std::filesystem::rename(folder_.Join("step-1"), folder_.Join("step-8"));
  EXPECT_THAT(FindLatest(dir_),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("its manifest is of step 1")));
}

TEST_F(CheckpointTest, RestoreSaysWhatDoesNotFit) {
  Save(1);
  OCTET_ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint loaded,
                             LoadCheckpoint(folder_.Join("step-1")));
  State state(-1.0f);
  const auto restore = [&](std::vector<CheckpointTensor> into) {
    return loaded.Restore(Stream(), "adam_m", into);
  };
  const TensorView w = state.Adam()[0].tensor;
  EXPECT_THAT(
      restore({{"w", w.Reshaped(Shape({3, 4}))}}),
      StatusIs(kInvalid,
               HasSubstr("'w' of adam_m is f32 [4, 3], expected f32 [3, 4]")));
  EXPECT_THAT(restore({{"w", TensorView(w.data(), DType::kI32, w.shape())}}),
              StatusIs(kInvalid, HasSubstr("expected i32")));
  EXPECT_THAT(restore({{"w", w}, {"v", w}}),
              StatusIs(kInvalid, HasSubstr("'v' of adam_m is missing")));
  EXPECT_THAT(restore({}), StatusIs(kInvalid, HasSubstr("nowhere")));
  EXPECT_THAT(restore({{"w", w, Shape({4, 3}), 1}}),
              StatusIs(kInvalid, HasSubstr("from row 1")));
  EXPECT_THAT(state.m, Each(-2.0f));
}

// Case 94 (NVIDIA/TransformerEngine#982): a file without float8 state.
TEST_F(CheckpointTest, AMissingGroupIsToldApart) {
  State state(3.0f);
  Checkpoint old = state.At(3);
  old.groups.erase("recipe");
  OCTET_ASSERT_OK_AND_ASSIGN(const SavedCheckpoint saved,
                             SaveCheckpoint(dir_, old));
  OCTET_ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint loaded,
                             LoadCheckpoint(saved.path));
  EXPECT_TRUE(loaded.Contains("master"));
  EXPECT_FALSE(loaded.Contains("recipe"));
  EXPECT_THAT(
      loaded.Restore(Stream(), "recipe", state.Recipe()),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("without recipe")));
}

// Case 94 (NVIDIA/TransformerEngine#231).
TEST_F(CheckpointTest, RecipeStateHasOneSizeAtEveryStep) {
  Save(10);
  Save(1000);
  const auto size = [&](const char* step) {
    return std::filesystem::file_size(folder_.Join(step));
  };
  EXPECT_EQ(size("step-10/recipe.safetensors"),
            size("step-1000/recipe.safetensors"));
}

TEST_F(CheckpointTest, APartAloneIsNoCheckpoint) {
  State state(1.0f);
  Checkpoint checkpoint;
  checkpoint.groups["adam_m"] = {
      {"w", state.Adam()[0].tensor, Shape({6, 3}), 0}};
  OCTET_ASSERT_OK_AND_ASSIGN(const SavedCheckpoint saved,
                             SaveCheckpoint(dir_, checkpoint));
  EXPECT_THAT(LoadCheckpoint(saved.path),
              StatusIs(kDataLoss, HasSubstr("rows from 4 on are missing")));
}

TEST_F(CheckpointTest, SaveRefusesWhatCannotBe) {
  Checkpoint checkpoint;
  checkpoint.step = -1;
  EXPECT_THAT(SaveCheckpoint(dir_, checkpoint),
              StatusIs(kInvalid, HasSubstr("-1")));
  checkpoint.step = 1;
  checkpoint.state = 3;
  EXPECT_THAT(SaveCheckpoint(dir_, checkpoint),
              StatusIs(kInvalid, HasSubstr("is number")));
  checkpoint.state = io::Json::object();
  State state(1.0f);
  for (const char* name : {"", "a/b", "..", "a.b"}) {
    checkpoint.groups = {{name, state.Adam()}};
    EXPECT_THAT(SaveCheckpoint(dir_, checkpoint),
                StatusIs(kInvalid, HasSubstr("group's name")))
        << name;
  }
  const TensorView w = state.Adam()[0].tensor;
  checkpoint.groups = {{"a", {{"w", w, Shape({4, 3}), 1}}}};
  EXPECT_THAT(SaveCheckpoint(dir_, checkpoint),
              StatusIs(kInvalid, HasSubstr("[4, 3] from row 1 of [4, 3]")));
  checkpoint.groups = {{"a", {{"w", w}, {"w", w}}}};
  EXPECT_THAT(SaveCheckpoint(dir_, checkpoint),
              StatusIs(kInvalid, HasSubstr("given twice")));
  EXPECT_THAT(folder_.List(), IsEmpty());
}

TEST_F(CheckpointTest, AFileInTheWayIsNamed) {
  const std::string path = folder_.Join("file");
  ASSERT_THAT(io::WriteFile(path, ""), IsOk());
  EXPECT_THAT(SaveCheckpoint(path, State(1.0f).At(1)).status().message(),
              HasSubstr(path));
}

// Saves without end, each step's values being its number; killed from outside.
[[noreturn]] void SaveForever(const std::string& dir, int64_t step) {
  CheckpointOptions options;
  options.keep = 2;
  for (;; ++step) {
    State state(static_cast<float>(step));
    if (!SaveCheckpoint(dir, state.At(step), options).ok()) _exit(1);
  }
}

TEST_F(CheckpointTest, AKillAtAnyMomentLeavesAWholeOne) {
  const Philox random(/*seed=*/89, /*stream=*/0);
  Save(1);
  int64_t last = 1, interrupted = 0;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) SaveForever(dir_, last + 1);
    usleep(2000 + random.Below(round, 30000));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a save failed before the kill";
    OCTET_ASSERT_OK_AND_ASSIGN(const auto found, FindLatest(dir_));
    EXPECT_GE(found.step, std::exchange(last, found.step));
    interrupted += found.skipped.size();
    for (const std::string& skipped : found.skipped) {
      EXPECT_THAT(skipped, HasSubstr("an interrupted save"));
    }
    ExpectHolds(found.path, static_cast<float>(found.step));
  }
  EXPECT_GT(interrupted, 0);
}

}  // namespace
}  // namespace octet::train
