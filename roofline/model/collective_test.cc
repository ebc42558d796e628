// SPDX-License-Identifier: Apache-2.0

#include "roofline/model/collective.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "roofline/model/timeline.h"
#include "testing/status_matchers.h"

namespace octet::roofline {
namespace {

using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

Hardware Node() {
  Hardware h;
  h.name = "made up";
  h.nvlink_rate = 400e9;
  h.network_rate = 50e9;
  h.gpus_per_node = 8;
  return h;
}

TEST(GroupTest, NeighboursFillNodes) {
  const Hardware h = Node();
  EXPECT_EQ(NeighbourGroup(h, 1).ranks(), 1);
  EXPECT_EQ(NeighbourGroup(h, 8).nodes, 1);
  EXPECT_EQ(NeighbourGroup(h, 64).per_node, 8);
  EXPECT_EQ(NeighbourGroup(h, 64).nodes, 8);
  EXPECT_EQ(NeighbourGroup(h, 12).per_node, 6);
  EXPECT_EQ(NeighbourGroup(h, 12).nodes, 2);
}

TEST(GroupTest, CopiesLieAcrossNodes) {
  const Hardware h = Node();
  EXPECT_EQ(StridedGroup(h, 64, 8).per_node, 1);
  EXPECT_EQ(StridedGroup(h, 64, 8).nodes, 8);
  EXPECT_EQ(StridedGroup(h, 16, 2).per_node, 4);
  EXPECT_EQ(StridedGroup(h, 16, 2).nodes, 2);
  EXPECT_EQ(StridedGroup(h, 64, 16).ranks(), 4);
}

TEST(CollectiveTest, RingsByHand) {
  const Hardware h = Node();
  EXPECT_EQ(AllGatherSeconds(h, {1, 1}, 1e9).value(), 0.0);
  // 7/8 of 1 GB at 400 GB/s, seven hops.
  EXPECT_NEAR(AllGatherSeconds(h, {8, 1}, 1e9).value(),
              0.875 / 400 + 7 * 1.9e-6 + 8.4e-6, 1e-12);
  // Two ranks of two nodes: half of it over one network card.
  EXPECT_NEAR(AllGatherSeconds(h, {1, 2}, 1e9).value(),
              0.5 / 50 + 4e-6 + 8.4e-6, 1e-12);
  // Each of eight cards carries an eighth: 15/16 of 0.125 GB at 50 GB/s is
  // 2.34 ms, longer than NVLink's 2.19.
  EXPECT_NEAR(AllGatherSeconds(h, {8, 16}, 1e9).value(),
              0.9375 * 0.125 / 50 + 7 * 1.9e-6 + 15 * 4e-6 + 8.4e-6, 1e-12);
  EXPECT_EQ(ReduceScatterSeconds(h, {8, 16}, 1e9).value(),
            AllGatherSeconds(h, {8, 16}, 1e9).value());
  // Four levels of a tree are sooner than fifteen hops.
  EXPECT_NEAR(AllReduceSeconds(h, {8, 16}, 1e9).value(),
              2 * (0.9375 * 0.125 / 50 + 7 * 1.9e-6 + 4 * 8.5e-6) + 8.4e-6,
              1e-12);
  EXPECT_NEAR(AllReduceSeconds(h, {1, 2}, 1e9).value(),
              2 * (0.5 / 50 + 4e-6) + 8.4e-6, 1e-12);
}

TEST(CollectiveTest, MissingLinksAreErrors) {
  Hardware h = Node();
  h.nvlink_rate = 0;
  EXPECT_THAT(
      AllGatherSeconds(h, {8, 1}, 1.0),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("made up has no nvlink_gigabytes_per_second")));
  h.network_rate = 0;
  EXPECT_THAT(
      AllGatherSeconds(h, {1, 3}, 1.0),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          HasSubstr("no network_gigabytes_per_second, and there are 3 nodes")));
}

TEST(TimelineTest, NothingTakesNoTime) {
  EXPECT_EQ(RunTimeline({}).seconds, 0.0);
}

TEST(TimelineTest, GathersHideBehindTheUnitBefore) {
  // Forward: gather 1, then two computations of 4 without a gap. Backward: the
  // last unit is there; the gather of the first hides; reductions of 2: one
  // hides behind the first unit, the last is seen.
  const TimelineUnit unit = {1.0, 2.0, 4.0, 8.0, false};
  const Timeline t = RunTimeline({unit, unit});
  EXPECT_EQ(t.compute_seconds, 24.0);
  EXPECT_EQ(t.communication_seconds, 7.0);
  EXPECT_EQ(t.seconds, 27.0);
  EXPECT_EQ(t.exposed_seconds(), 3.0);
}

TEST(TimelineTest, SlowLinksSetThePace) {
  // Three gathers of 10 in forward, two more in backward and three reductions
  // of 10, all on one link that never rests but for the waits on computation.
  const TimelineUnit unit = {10.0, 10.0, 1.0, 1.0, false};
  const Timeline t = RunTimeline({unit, unit, unit});
  EXPECT_EQ(t.communication_seconds, 80.0);
  EXPECT_EQ(t.compute_seconds, 6.0);
  EXPECT_GE(t.seconds, 80.0);
  EXPECT_LE(t.seconds, 86.0);
}

TEST(TimelineTest, KeptWeightsAreGatheredOnce) {
  TimelineUnit unit = {3.0, 0.0, 1.0, 1.0, true};
  EXPECT_EQ(RunTimeline({unit, unit}).communication_seconds, 6.0);
  unit.keeps_weights = false;
  EXPECT_EQ(RunTimeline({unit, unit}).communication_seconds, 9.0);
}

}  // namespace
}  // namespace octet::roofline
