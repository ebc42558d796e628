// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/input/measurements.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/atomic_file.h"
#include "testing/status_matchers.h"
#include "testing/temp_folder.h"

namespace octet::tools {
namespace {

using ::octet::testing::StatusIs;
using ::octet::testing::TempFolder;
using ::testing::HasSubstr;

constexpr auto kLoss = absl::StatusCode::kDataLoss;

class MeasurementsTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = folder_.Join("file");
    EXPECT_TRUE(io::WriteFile(path, text).ok());
    return path;
  }
  TempFolder folder_;
};

TEST_F(MeasurementsTest, ReadsBenchmarks) {
  const std::string path = Write(R"({"context": {}, "benchmarks": [
    {"name": "tensorwise/M16/K4096/N8192/iterations:1/manual_time",
     "run_type": "iteration", "device_us": 72.0, "wall_us": 79.8},
    {"name": "rowwise/M16/K4096/N8192", "error_occurred": true},
    {"name": "bf16/M16/K1/N1_mean", "run_type": "aggregate"}]})");
  OCTET_ASSERT_OK_AND_ASSIGN(const auto all,
                             ReadBenchmarkJson(path, "device_us"));
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].recipe, "tensorwise");
  EXPECT_EQ(all[0].sizes.m, 16);
  EXPECT_EQ(all[0].sizes.k, 4096);
  EXPECT_EQ(all[0].sizes.n, 8192);
  EXPECT_DOUBLE_EQ(all[0].seconds, 72e-6);
  OCTET_ASSERT_OK_AND_ASSIGN(const auto wall,
                             ReadBenchmarkJson(path, "wall_us"));
  EXPECT_DOUBLE_EQ(wall[0].seconds, 79.8e-6);
  EXPECT_THAT(ReadBenchmarkJson(path, "no_us"),
              StatusIs(kLoss, HasSubstr("no_us")));
}

TEST_F(MeasurementsTest, RefusesOtherJson) {
  EXPECT_THAT(ReadBenchmarkJson(Write("[]"), "device_us"),
              StatusIs(kLoss, HasSubstr("benchmarks")));
  EXPECT_THAT(ReadBenchmarkJson(Write(R"({"benchmarks": []})"), "device_us"),
              StatusIs(kLoss, HasSubstr("no benchmark")));
  EXPECT_THAT(
      ReadBenchmarkJson(
          Write(R"({"benchmarks": [{"name": "Cast/M16", "device_us": 1}]})"),
          "device_us"),
      StatusIs(kLoss, HasSubstr("\"Cast/M16\"")));
  EXPECT_THAT(
      ReadBenchmarkJson(
          Write(R"({"benchmarks": [{"name": "a/M1/K1/N1", "device_us": -1}]})"),
          "device_us"),
      StatusIs(kLoss, HasSubstr("device_us -1")));
  EXPECT_THAT(ReadBenchmarkJson(folder_.Join("none"), "device_us"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST_F(MeasurementsTest, ReadsCsv) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const auto all,
      ReadMeasuredCsv(Write("M,K,N,recipe,seconds\n1,2,3,bf16,4e-6\n")));
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].recipe, "bf16");
  EXPECT_EQ(all[0].sizes.n, 3);
  EXPECT_DOUBLE_EQ(all[0].seconds, 4e-6);
  EXPECT_THAT(ReadMeasuredCsv(Write("M,K,N,seconds\n1,2,3,4\n")),
              StatusIs(kLoss, HasSubstr("no column recipe")));
  EXPECT_THAT(ReadMeasuredCsv(Write("recipe,M,K,N,seconds\nbf16,1,0,3,4\n")),
              StatusIs(kLoss, HasSubstr(":2: K is \"0\"")));
  EXPECT_THAT(ReadMeasuredCsv(Write("recipe,M,K,N,seconds\nbf16,1,2,3,nan\n")),
              StatusIs(kLoss, HasSubstr("seconds is \"nan\"")));
  EXPECT_THAT(ReadMeasuredCsv(Write("recipe,M,K,N,seconds\n")),
              StatusIs(kLoss, HasSubstr("no row")));
}

std::string Step(int number, double seconds, double gib) {
  return "{\"step\":" + std::to_string(number) +
         ",\"seconds\":" + std::to_string(seconds) +
         ",\"tokens_per_second\":" + std::to_string(100 / seconds) +
         ",\"tflops\":" + std::to_string(10 / seconds) +
         ",\"memory_gib\":" + std::to_string(gib) + "}\n";
}

TEST_F(MeasurementsTest, MetricsAreMediansAfterTheFirstSteps) {
  const std::string path = Write(Step(1, 50.0, 1) + Step(2, 2.0, 3) +
                                 Step(3, 1.0, 2) + Step(4, 4.0, 2));
  OCTET_ASSERT_OK_AND_ASSIGN(const RunMeasurement run, ReadMetrics(path, 1));
  EXPECT_EQ(run.steps, 3);
  EXPECT_DOUBLE_EQ(run.seconds, 2.0);
  EXPECT_DOUBLE_EQ(run.tokens_per_second, 50.0);
  EXPECT_DOUBLE_EQ(run.tflops, 5.0);
  EXPECT_DOUBLE_EQ(run.tokens, 100.0);
  EXPECT_EQ(run.half_line, 0);
  EXPECT_DOUBLE_EQ(run.memory_gib, 3.0);
  OCTET_ASSERT_OK_AND_ASSIGN(const RunMeasurement even, ReadMetrics(path, 2));
  EXPECT_DOUBLE_EQ(even.seconds, 2.5);
  EXPECT_THAT(ReadMetrics(path, 4),
              StatusIs(kLoss, HasSubstr("4 steps, of which 4 are skipped")));
  EXPECT_THAT(ReadMetrics(Write("{\"step\":1}\n"), 0),
              StatusIs(kLoss, HasSubstr(":1")));
  EXPECT_THAT(ReadMetrics(Write("nonsense\n"), 0), StatusIs(kLoss));
}

TEST_F(MeasurementsTest, MetricsOfAKilledRun) {
  const std::string half = "{\"step\":2,\"seco";
  OCTET_ASSERT_OK_AND_ASSIGN(const RunMeasurement run,
                             ReadMetrics(Write(Step(1, 2.0, 1) + half), 0));
  EXPECT_EQ(run.steps, 1);
  EXPECT_EQ(run.half_line, 2);
  EXPECT_THAT(ReadMetrics(Write(half + "\n" + Step(2, 2.0, 1)), 0),
              StatusIs(kLoss, HasSubstr(":1")));
  EXPECT_THAT(ReadMetrics(Write(half), 0), StatusIs(kLoss));
}

TEST_F(MeasurementsTest, MetricsAreAboveZero) {
  for (const std::string seconds : {"0", "-1"}) {
    const std::string step = "{\"seconds\":" + seconds +
                             ",\"tokens_per_second\":1,\"tflops\":1,"
                             "\"memory_gib\":1}\n";
    EXPECT_THAT(ReadMetrics(Write(Step(1, 1.0, 1) + step + step), 0),
                StatusIs(kLoss, HasSubstr(":2: seconds is " + seconds)));
  }
  // Also in a step that does not count.
  EXPECT_THAT(ReadMetrics(Write(Step(1, 1.0, 0) + Step(2, 1.0, 1)), 1),
              StatusIs(kLoss, HasSubstr(":1: memory_gib is 0")));
}

}  // namespace
}  // namespace octet::tools
