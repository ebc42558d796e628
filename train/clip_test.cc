// SPDX-License-Identifier: Apache-2.0

#include "train/clip.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::train {
namespace {

using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ClipCoefficient, FollowsPyTorch) {
  EXPECT_THAT(*ClipCoefficient(0.5, 1.0), 1.0);
  EXPECT_DOUBLE_EQ(*ClipCoefficient(4.0, 1.0), 1.0 / (4.0 + 1e-6));
  EXPECT_EQ(*ClipCoefficient(0, 1.0), 1.0);
  EXPECT_EQ(*ClipCoefficient(100, 0), 1.0);
}

TEST(ClipCoefficient, RefusesNonFinite) {
  for (const double norm : {std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(ClipCoefficient(norm, 1.0),
                StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("finite")));
  }
  EXPECT_THAT(ClipCoefficient(1, -1),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace octet::train
