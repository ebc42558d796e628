// SPDX-License-Identifier: Apache-2.0

// The verify command on the shipped goldens, and on damaged copies of them.
#include "tools/verify/command.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/safetensors.h"
#include "testing/goldens.h"
#include "testing/status_matchers.h"
#include "tools/verify/report.h"

namespace octet::tools {
namespace {

using octet::testing::GoldenPath;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

class GoldenFolderTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenFolderTest, IsWithinTolerance) {
  const VerifyOutcome outcome = RunVerifyCommand({GoldenPath(GetParam())});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("passed"));
  EXPECT_EQ(outcome.error, "");
}

INSTANTIATE_TEST_SUITE_P(Folders, GoldenFolderTest,
                         ::testing::Values("llama_gqa", "llama_tied_sharded",
                                           "llama_rope_scaled", "linear",
                                           "linear_outlier"));

std::string CopyOf(const std::string& folder) {
  const std::string copy = ::testing::TempDir() + "/changed_" + folder;
  std::filesystem::remove_all(copy);
  std::filesystem::create_directories(copy);
  for (const auto& entry :
       std::filesystem::directory_iterator(GoldenPath(folder))) {
    const std::filesystem::path to =
        std::filesystem::path(copy) / entry.path().filename();
    std::filesystem::copy_file(std::filesystem::canonical(entry.path()), to);
    std::filesystem::permissions(to, std::filesystem::perms::owner_all);
  }
  return copy;
}

// Writes the file anew with one tensor as `change` leaves it.
void ChangeTensor(const std::string& path, const std::string& tensor,
                  const std::function<TensorView(const TensorView&)>& change) {
  auto read = io::SafetensorsFile::Open(path);
  ASSERT_THAT(read, IsOk());
  ASSERT_TRUE(read->Find(tensor).ok()) << tensor;
  std::vector<io::NamedTensor> tensors;
  for (const std::string& name : read->names()) {
    const TensorView view = *read->Find(name);
    tensors.push_back({name, name == tensor ? change(view) : view});
  }
  ASSERT_THAT(io::WriteSafetensors(path, tensors), IsOk());
}

// A copy of a folder with one byte of a tensor changed.
std::string CopyWithChange(const std::string& folder, const std::string& file,
                           const std::string& tensor, int64_t byte) {
  const std::string copy = CopyOf(folder);
  std::vector<char> changed;
  ChangeTensor(copy + "/" + file, tensor, [&](const TensorView& view) {
    changed.assign(view.as<char>(), view.as<char>() + view.num_bytes());
    changed[byte] = static_cast<char>(changed[byte] ^ 0x11);
    return TensorView(changed.data(), view.dtype(), view.shape());
  });
  return copy;
}

// As PyTorch writes a scalar: no dimension at all.
TEST(VerifyTest, ALossOfRankZeroIsALoss) {
  const std::string copy = CopyOf("llama_gqa");
  ChangeTensor(copy + "/expected.safetensors", "loss",
               [](const TensorView& view) { return view.Reshaped(Shape()); });
  const VerifyOutcome outcome = RunVerifyCommand({copy});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.error;
}

TEST(VerifyTest, AChangedWeightIsFound) {
  const VerifyOutcome outcome = RunVerifyCommand(
      {CopyWithChange("llama_gqa", "model.safetensors",
                      "model.layers.1.mlp.down_proj.weight", 3)});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("FAILED"));
  EXPECT_THAT(outcome.out, HasSubstr("logits"));
}

TEST(VerifyTest, AChangedGradientIsFoundAndNamedFirst) {
  const std::string name = "grad.model.layers.0.self_attn.k_proj.weight";
  const VerifyOutcome outcome = RunVerifyCommand(
      {"--lines=0",
       CopyWithChange("llama_gqa", "expected.safetensors", name, 3)});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("1 out of tolerance"));
  EXPECT_THAT(outcome.out, HasSubstr(name));
  EXPECT_THAT(outcome.out, Not(HasSubstr("logits")));
}

TEST(VerifyTest, AChangedFinalWeightIsFound) {
  const std::string name = "adamw.final.model.norm.weight";
  const VerifyOutcome outcome = RunVerifyCommand(
      {CopyWithChange("llama_tied_sharded", "expected.safetensors", name, 2)});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr(name));
}

TEST(VerifyTest, OneChangedByteOfACastIsFound) {
  const VerifyOutcome outcome =
      RunVerifyCommand({CopyWithChange("linear", "linear_48x64x32.safetensors",
                                       "cast.w.col.pow2.e4m3.data", 100)});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("1 out of tolerance"));
  EXPECT_THAT(outcome.out, HasSubstr("cast.w.col.pow2.e4m3.data"));
}

TEST(VerifyTest, FoldersThatCannotBeReadFailAndOthersAreStillCompared) {
  const std::string copy = CopyOf("llama_rope_scaled");
  std::filesystem::resize_file(copy + "/expected.safetensors", 1000);
  const VerifyOutcome outcome =
      RunVerifyCommand({copy, "/nowhere", GoldenPath("linear")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.error, HasSubstr("expected.safetensors"));
  EXPECT_THAT(outcome.error, HasSubstr("/nowhere: no such folder\n"));
  EXPECT_THAT(outcome.out, HasSubstr("passed"));
  EXPECT_THAT(VerifyFolder(Stream(), "/nowhere"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(VerifyFolder(Stream(), copy + "/config.json"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("config.json: not a folder")));
  std::filesystem::remove(copy + "/expected.safetensors");
  EXPECT_THAT(VerifyFolder(Stream(), copy),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("neither")));
}

TEST(VerifyTest, WrongCommandLinesExitWith2) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"--lines=2"},
                                             {"--device=tpu", "a"},
                                             {"--lines=x", "a"},
                                             {"--nothing", "a"}}) {
    const VerifyOutcome outcome = RunVerifyCommand(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.error, HasSubstr("; see --help\n"));
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1);
  }
  const VerifyOutcome help = RunVerifyCommand({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("usage: verify"));
}

TEST(VerifyReportTest, SortsByErrorForTheTolerance) {
  VerifyReport report;
  report.path = "folder";
  EXPECT_FALSE(report.Passed());
  report.items = {{"small", 1e-6, 1e-4},
                  {"large", 5e-5, 1e-4},
                  {"exact", 0.0, 0.0, "of the bytes"}};
  EXPECT_TRUE(report.Passed());
  const std::string text = Format(report, 1);
  EXPECT_THAT(text, HasSubstr("folder: passed, 3 compared"));
  EXPECT_THAT(text, HasSubstr("large"));
  EXPECT_THAT(text, Not(HasSubstr("small")));
  report.items.push_back({"nan", std::nan(""), 1.0});
  EXPECT_FALSE(report.Passed());
  EXPECT_THAT(Format(report, 0), HasSubstr("nan"));
}

}  // namespace
}  // namespace octet::tools
