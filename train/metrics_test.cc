// SPDX-License-Identifier: Apache-2.0

#include "train/metrics.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/file.h"
#include "io/json.h"
#include "testing/status_matchers.h"

namespace octet::train {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

StepMetrics Step(int64_t step) {
  StepMetrics m;
  m.step = step;
  m.steps = 200;
  m.loss = 3.14159;
  m.grad_norm = 0.5;
  m.lr = 3e-3;
  m.seconds = 0.5;
  m.tokens_per_second = 12345.6;
  m.tflops = 0.07;
  return m;
}

TEST(ConsoleLine, SaysWhatIsKnown) {
  StepMetrics m = Step(7);
  std::string line = ConsoleLine(m);
  EXPECT_THAT(line, HasSubstr("step   7/200  loss 3.1416"));
  EXPECT_THAT(line, HasSubstr("12,346 tokens/s"));
  EXPECT_THAT(line, HasSubstr("MFU n/a"));
  EXPECT_THAT(line, Not(HasSubstr("epoch")));
  m.mfu = 0.412;
  m.epoch = 2;
  m.skipped = true;
  m.loss = std::nan("");
  m.validation_loss = 2.5;
  line = ConsoleLine(m);
  EXPECT_THAT(line, HasSubstr("loss nan"));
  EXPECT_THAT(line, HasSubstr("MFU 41.2% of bf16 peak"));
  EXPECT_THAT(line, HasSubstr("epoch 2"));
  EXPECT_THAT(line, HasSubstr("SKIPPED"));
  EXPECT_THAT(line, HasSubstr("validation loss 2.5000"));
}

TEST(JsonLine, IsStrictAlsoForNan) {
  StepMetrics m = Step(7);
  m.loss = std::nan("");
  m.grad_norm = HUGE_VAL;
  const std::string line = JsonLine(m);
  OCTET_ASSERT_OK_AND_ASSIGN(const io::Json json, io::ParseJson(line, "line"));
  EXPECT_TRUE(json["loss"].is_null());
  EXPECT_TRUE(json["grad_norm"].is_null());
  EXPECT_EQ(json["step"], 7);
  EXPECT_EQ(json["lr"], 3e-3);
  EXPECT_FALSE(json.contains("mfu"));
  EXPECT_FALSE(json.contains("watts"));
  EXPECT_FALSE(json.contains("validation_loss"));
  m.watts = 698.5;
  m.sm_mhz = 1500;
  OCTET_ASSERT_OK_AND_ASSIGN(const io::Json gpu,
                             io::ParseJson(JsonLine(m), "line"));
  EXPECT_EQ(gpu["watts"], 698.5);
  EXPECT_EQ(gpu["sm_mhz"], 1500);
}

// Case 99 (pytorch/torchtitan#809): a resume after a kill.
TEST(MetricsFile, IsCutBackOnResume) {
  const std::string path = ::testing::TempDir() + "/metrics.jsonl";
  std::filesystem::remove(path);
  {
    OCTET_ASSERT_OK_AND_ASSIGN(MetricsFile file, MetricsFile::Open(path, 0));
    for (int step = 1; step <= 8; ++step) {
      ASSERT_THAT(file.Write(Step(step)), IsOk());
    }
  }
  // As after a kill in the middle of a line.
  std::ofstream(path, std::ios::app) << "{\"step\": 9, \"lo";
  {
    OCTET_ASSERT_OK_AND_ASSIGN(MetricsFile file, MetricsFile::Open(path, 5));
    for (int step = 6; step <= 7; ++step) {
      ASSERT_THAT(file.Write(Step(step)), IsOk());
    }
  }
  OCTET_ASSERT_OK_AND_ASSIGN(const std::string text, io::ReadFile(path));
  std::istringstream lines(text);
  std::string line;
  int64_t expected = 1;
  while (std::getline(lines, line)) {
    OCTET_ASSERT_OK_AND_ASSIGN(const io::Json json, io::ParseJson(line, "x"));
    EXPECT_EQ(json["step"], expected++);
  }
  EXPECT_EQ(expected, 8);
}

TEST(MetricsFile, SaysWhereItCannotWrite) {
  EXPECT_THAT(MetricsFile::Open("/no/such/folder/metrics.jsonl", 0),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("/no/such/folder")));
}

TEST(ProgressBar, DrawsOnlyWhereItIsSeen) {
  std::ostringstream pipe, terminal;
  {
    ProgressBar hidden(&pipe, 200, 0, false), shown(&terminal, 200, 0, true);
    hidden.Draw(Step(100));
    shown.Draw(Step(100));
  }
  EXPECT_THAT(pipe.str(), IsEmpty());
  EXPECT_THAT(terminal.str(), HasSubstr("50%  step 100/200  loss 3.142"));
  EXPECT_THAT(terminal.str(), ::testing::EndsWith("\r\033[K"));
}

TEST(PeakProcessGib, IsPlausible) {
  EXPECT_GT(PeakProcessGib(), 1e-4);
  EXPECT_LT(PeakProcessGib(), 100);
}

}  // namespace
}  // namespace octet::train
