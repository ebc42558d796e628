// SPDX-License-Identifier: Apache-2.0

#include "train/schedule.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::train {
namespace {

using ::octet::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> Factors(const ScheduleOptions& options) {
  std::vector<double> factors;
  const auto schedule = Schedule::Create(options);
  if (!schedule.ok()) return factors;
  for (int64_t i = 0; i < options.steps; ++i) {
    factors.push_back(schedule->Factor(i));
  }
  return factors;
}

// Case 95 (InternLM/xtuner#1285, pytorch/torchtitan#1010): (i + 1) / warmup.
TEST(Schedule, WarmupMayFillTheWholeRun) {
  EXPECT_THAT(Factors({4, 4}), ElementsAre(0.25, 0.5, 0.75, 1.0));
  EXPECT_THAT(Factors({2, 2}), ElementsAre(0.5, 1.0));
}

// Case 95 (Lightning-AI/litgpt#1393).
TEST(Schedule, LongerWarmupIsClippedToTheRun) {
  EXPECT_THAT(Factors({4, 5}), ElementsAre(0.25, 0.5, 0.75, 1.0));
}

// Case 95 (pytorch/torchtitan#1261).
TEST(Schedule, WithoutWarmupStartsAtThePeak) {
  EXPECT_THAT(Factors({1, 0}), ElementsAre(1.0));
  EXPECT_EQ(Factors({10, 0})[0], 1.0);
  EXPECT_THAT(Factors({4, 0}), ElementsAre(1.0, 0.75, 0.5, 0.25));
}

TEST(Schedule, StableThenDecay) {
  // Decay of 4: the steps at 3/4, 1/2, 1/4 of the peak; 0 would be step 8.
  EXPECT_THAT(Factors({8, 2, 0.5}),
              ElementsAre(0.5, 1, 1, 1, 1, 0.75, 0.5, 0.25));
  EXPECT_THAT(Factors({8, 2, 0.0}), ElementsAre(0.5, 1, 1, 1, 1, 1, 1, 1));
}

TEST(Schedule, DecayTypesAndFloor) {
  const auto sqrt = Factors({8, 2, 0.5, "sqrt", 0});
  EXPECT_DOUBLE_EQ(sqrt[5], 0.5);
  EXPECT_DOUBLE_EQ(sqrt[7], 1 - std::sqrt(0.75));
  const auto cosine = Factors({8, 2, 0.5, "cosine", 0.1});
  EXPECT_DOUBLE_EQ(cosine[6], 0.1 + 0.9 * 0.5);
}

TEST(Schedule, IsFiniteAndStaysPastTheEnd) {
  for (int64_t steps = 1; steps < 6; ++steps) {
    for (int64_t warmup = 0; warmup < 7; ++warmup) {
      for (const double ratio : {0.0, 0.3, 1.0}) {
        OCTET_ASSERT_OK_AND_ASSIGN(
            const Schedule s,
            Schedule::Create({steps, warmup, ratio, "cosine", 0}));
        for (int64_t i = 0; i < steps; ++i) {
          EXPECT_GT(s.Factor(i), 0) << steps << " " << warmup << " " << i;
          EXPECT_LE(s.Factor(i), 1);
        }
        EXPECT_EQ(s.Factor(steps + 100), s.Factor(steps - 1));
      }
    }
  }
}

// Case 95 (pytorch/torchtitan#99): no steps, or -1.
TEST(Schedule, RefusesBadOptions) {
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Schedule::Create({0, 0}),
              StatusIs(code, HasSubstr("steps is 0")));
  EXPECT_THAT(Schedule::Create({-1, 0}), StatusIs(code));
  EXPECT_THAT(Schedule::Create({4, -1}), StatusIs(code));
  EXPECT_THAT(Schedule::Create({4, 0, 1.5}), StatusIs(code, HasSubstr("1.5")));
  EXPECT_THAT(
      Schedule::Create({4, 0, std::numeric_limits<double>::quiet_NaN()}),
      StatusIs(code));
  EXPECT_THAT(Schedule::Create({4, 0, 0.5, "exp"}),
              StatusIs(code, HasSubstr("exp")));
  EXPECT_THAT(Schedule::Create({4, 0, 0.5, "linear", -0.1}), StatusIs(code));
}

}  // namespace
}  // namespace octet::train
