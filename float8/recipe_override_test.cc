// SPDX-License-Identifier: Apache-2.0

#include "float8/recipe_override.h"

#include <string>

#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::float8 {
namespace {

using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RecipeOverrideTest, SetsEachChoice) {
  Recipe r = *NamedRecipe("tensorwise");
  ASSERT_THAT(ApplyOverride(&r, "forward.x.dtype", "e5m2"), IsOk());
  EXPECT_EQ(r.forward.a.cast.dtype, DType::kF8E5M2);
  EXPECT_EQ(r.wgrad.b.cast.dtype, DType::kF8E4M3);
  ASSERT_THAT(ApplyOverride(&r, "forward.w.granularity", "128x128"), IsOk());
  EXPECT_EQ(r.forward.b.cast.granularity, Granularity::kBlock128x128);
  ASSERT_THAT(ApplyOverride(&r, "dgrad.g.rounding", "pow2"), IsOk());
  EXPECT_EQ(r.dgrad.a.cast.rounding, ScaleRounding::kPowerOfTwo);
  ASSERT_THAT(ApplyOverride(&r, "dgrad.w.scaling", "delayed"), IsOk());
  EXPECT_EQ(r.dgrad.b.mode, ScalingMode::kDelayed);
  ASSERT_THAT(ApplyOverride(&r, "wgrad.g.dtype", "high_precision"), IsOk());
  EXPECT_FALSE(r.wgrad.a.is_float8);
  ASSERT_THAT(ApplyOverride(&r, "wgrad.x.dtype", "high_precision"), IsOk());
  EXPECT_FALSE(r.wgrad.b.is_float8);
  ASSERT_THAT(ApplyOverride(&r, "dgrad.fast_accumulation", "true"), IsOk());
  EXPECT_TRUE(r.dgrad.fast_accumulation);
  ASSERT_THAT(ApplyOverride(&r, "forward.fast_accumulation", "false"), IsOk());
  EXPECT_FALSE(r.forward.fast_accumulation);
  ASSERT_THAT(ApplyOverride(&r, "delayed.history_length", "1024"), IsOk());
  EXPECT_EQ(r.delayed.history_length, 1024);
  ASSERT_THAT(ApplyOverride(&r, "delayed.margin", "-1"), IsOk());
  EXPECT_EQ(r.delayed.margin, -1);
  ASSERT_THAT(ApplyOverride(&r, "delayed.reduction", "most_recent"), IsOk());
  EXPECT_EQ(r.delayed.reduction, AmaxReduction::kMostRecent);
  ASSERT_THAT(ApplyOverride(&r, "filter", "lm_head, layers.0."), IsOk());
  EXPECT_THAT(r.filter, ElementsAre("lm_head", "layers.0."));
  ASSERT_THAT(ApplyOverride(&r, "filter", ""), IsOk());
  EXPECT_THAT(r.filter, IsEmpty());
  ASSERT_THAT(ApplyOverride(&r, "skip_small_layers", "true"), IsOk());
  EXPECT_TRUE(r.skip_small_layers);
}

TEST(RecipeOverrideTest, AFloat8DTypeTurnsTheCastOn) {
  Recipe r = *NamedRecipe("bf16");
  for (const char* key : {"forward.x.dtype", "forward.w.dtype"}) {
    ASSERT_THAT(ApplyOverride(&r, key, "f8_e4m3"), IsOk());
  }
  EXPECT_THAT(Validate(r), IsOk());
  EXPECT_TRUE(UsesFloat8(r));
}

// Each listed key is one that is taken, and none takes nonsense.
TEST(RecipeOverrideTest, EveryKeyIsKnown) {
  EXPECT_EQ(OverrideKeys().size(), 6u * 4 + 3 + 5);
  for (const std::string& key : OverrideKeys()) {
    Recipe r = *NamedRecipe("tensorwise");
    const absl::Status status = ApplyOverride(&r, key, "?!");
    if (key == "filter") {
      EXPECT_THAT(status, IsOk());
      continue;
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr(key), HasSubstr("\"?!\""))));
  }
}

TEST(RecipeOverrideTest, RefusalsSayWhatIsKnown) {
  Recipe r = *NamedRecipe("tensorwise");
  const auto expect = [&](const char* key, const char* value,
                          const char* known) {
    EXPECT_THAT(
        ApplyOverride(&r, key, value),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr(key), HasSubstr(value), HasSubstr(known))));
  };
  expect("forward.g.dtype", "e4m3", "dgrad.g.dtype");
  expect("forward.x.dtype", "bf16", "high_precision");
  expect("forward.x.granularity", "rows", "row");
  expect("forward.x.rounding", "up", "pow2");
  expect("forward.x.scaling", "static", "delayed");
  expect("forward.fast_accumulation", "yes", "true");
  expect("delayed.history_length", "many", "whole numbers");
  expect("delayed.reduction", "mean", "most_recent");
  EXPECT_EQ(r.forward.a.cast, (*NamedRecipe("tensorwise")).forward.a.cast);
}

}  // namespace
}  // namespace octet::float8
