// SPDX-License-Identifier: Apache-2.0
#include "base/cuda_requirement.h"

#include "testing/status_matchers.h"

namespace octet {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::StatusCode kRefused = absl::StatusCode::kFailedPrecondition;

TEST(DriverRequirementTest, NoDriver) {
  EXPECT_THAT(DriverRequirement(0, 12090, "looking for a GPU", "insufficient"),
              StatusIs(kRefused, AllOf(HasSubstr("looking for a GPU"),
                                       HasSubstr("no NVIDIA driver"),
                                       Not(HasSubstr("too old")))));
}

TEST(DriverRequirementTest, OldDriverNamesBothVersions) {
  EXPECT_THAT(DriverRequirement(11080, 12090, "looking", "insufficient"),
              StatusIs(kRefused, AllOf(HasSubstr("too old"),
                                       HasSubstr("is for CUDA 11.8"),
                                       HasSubstr("built with CUDA 12.9"),
                                       HasSubstr("CUDA 12.0 or later"))));
  EXPECT_THAT(DriverRequirement(12080, 13000, "looking", "insufficient"),
              StatusIs(kRefused, HasSubstr("CUDA 13.0 or later")));
}

TEST(DriverRequirementTest, OtherFaultsKeepTheirText) {
  for (const int driver : {12000, 12090, 13000}) {
    EXPECT_THAT(
        DriverRequirement(driver, 12090, "looking", "a stub"),
        StatusIs(kRefused, AllOf(HasSubstr("a stub"), Not(HasSubstr("too old")),
                                 Not(HasSubstr("no NVIDIA driver")))));
  }
}

TEST(CapabilityRequirementTest, OlderGpusAreRefusedByName) {
  EXPECT_THAT(
      CapabilityRequirement(1, "NVIDIA L40S", {8, 9}, {9, 0}, "stream"),
      StatusIs(kRefused,
               HasSubstr("stream: cuda:1 is NVIDIA L40S of compute capability "
                         "8.9, needs 9.0 or later")));
  EXPECT_THAT(CapabilityRequirement(0, "x", {9, 0}, {9, 1}, "stream"),
              StatusIs(kRefused));
}

TEST(CapabilityRequirementTest, EqualAndLaterOnesAreNot) {
  EXPECT_THAT(CapabilityRequirement(0, "x", {9, 0}, {9, 0}, "stream"), IsOk());
  EXPECT_THAT(CapabilityRequirement(0, "x", {10, 0}, {9, 1}, "stream"), IsOk());
}

}  // namespace
}  // namespace octet
