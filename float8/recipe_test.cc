// SPDX-License-Identifier: Apache-2.0

#include "float8/recipe.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::float8 {
namespace {

using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Recipe Named(const char* name) {
  absl::StatusOr<Recipe> recipe = NamedRecipe(name);
  EXPECT_THAT(recipe, IsOk());
  return *std::move(recipe);
}

// "e4m3 row pow2", "e5m2 tensor exact delayed", "-"
std::string Describe(const OperandPlan& plan) {
  if (!plan.is_float8) return "-";
  return std::string(plan.cast.dtype == DType::kF8E4M3 ? "e4m3 " : "e5m2 ")
      .append(std::string(Name(plan.cast.granularity)))
      .append(" ")
      .append(std::string(Name(plan.cast.rounding)))
      .append(plan.mode == ScalingMode::kDelayed ? " delayed" : "");
}

std::vector<std::string> Describe(const GemmPlan& plan) {
  return {Describe(plan.a), Describe(plan.b),
          plan.fast_accumulation ? "fast" : "precise"};
}

TEST(RecipeTest, NamesAreThoseOfTheTable) {
  EXPECT_THAT(RecipeNames(),
              ElementsAre("bf16", "tensorwise", "tensorwise_delayed", "rowwise",
                          "rowwise_gw_hp", "blockwise", "mxfp8"));
  for (const std::string& name : RecipeNames()) {
    const Recipe recipe = Named(name.c_str());
    EXPECT_EQ(recipe.name, name);
    EXPECT_THAT(Validate(recipe), IsOk()) << name;
    EXPECT_EQ(UsesFloat8(recipe), name != "bf16");
  }
}

// With case 48 (openxla/xla#6168): fast sums in forward alone.
TEST(RecipeTest, Plans) {
  const auto precise = ElementsAre("-", "-", "precise");
  Recipe r = Named("bf16");
  EXPECT_THAT(Describe(r.forward), precise);
  EXPECT_THAT(Describe(r.dgrad), precise);
  EXPECT_THAT(Describe(r.wgrad), precise);

  r = Named("tensorwise");
  EXPECT_THAT(Describe(r.forward),
              ElementsAre("e4m3 tensor exact", "e4m3 tensor exact", "fast"));
  EXPECT_THAT(Describe(r.dgrad),
              ElementsAre("e5m2 tensor exact", "e4m3 tensor exact", "precise"));
  EXPECT_EQ(Describe(r.wgrad), Describe(r.dgrad));

  r = Named("tensorwise_delayed");
  EXPECT_THAT(Describe(r.dgrad),
              ElementsAre("e5m2 tensor exact delayed",
                          "e4m3 tensor exact delayed", "precise"));

  r = Named("rowwise");
  EXPECT_THAT(Describe(r.forward),
              ElementsAre("e4m3 row pow2", "e4m3 row pow2", "fast"));
  EXPECT_THAT(Describe(r.dgrad),
              ElementsAre("e4m3 row pow2", "e4m3 column pow2", "precise"));
  EXPECT_THAT(Describe(r.wgrad),
              ElementsAre("e4m3 column pow2", "e4m3 column pow2", "precise"));

  r = Named("rowwise_gw_hp");
  EXPECT_THAT(Describe(r.dgrad),
              ElementsAre("e4m3 row pow2", "e4m3 tensor pow2", "precise"));
  EXPECT_THAT(Describe(r.wgrad), precise);

  r = Named("blockwise");
  EXPECT_THAT(Describe(r.forward),
              ElementsAre("e4m3 1x128 exact", "e4m3 128x128 exact", "precise"));
  EXPECT_EQ(Describe(r.dgrad), Describe(r.forward));
  EXPECT_THAT(Describe(r.wgrad),
              ElementsAre("e4m3 128x1 exact", "e4m3 128x1 exact", "precise"));

  r = Named("mxfp8");
  EXPECT_THAT(Describe(r.forward),
              ElementsAre("e4m3 1x32 e8m0", "e4m3 1x32 e8m0", "precise"));
  EXPECT_THAT(Describe(r.dgrad),
              ElementsAre("e4m3 1x32 e8m0", "e4m3 32x1 e8m0", "precise"));
  EXPECT_THAT(Describe(r.wgrad),
              ElementsAre("e4m3 32x1 e8m0", "e4m3 32x1 e8m0", "precise"));
}

TEST(RecipeTest, UnknownNameSuggestsTheNearest) {
  EXPECT_THAT(NamedRecipe("rowwize"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"rowwize\""),
                             HasSubstr("did you mean \"rowwise\""),
                             HasSubstr("mxfp8"), HasSubstr("tensorwise"))));
  EXPECT_THAT(NamedRecipe("rowwise_with_gw_hp"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("did you mean \"rowwise_gw_hp\"")));
  EXPECT_THAT(NamedRecipe("foo"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"foo\"; Known: "), HasSubstr("mxfp8"),
                             Not(HasSubstr("did you")))));
  EXPECT_THAT(NamedRecipe(""), StatusIs(absl::StatusCode::kInvalidArgument));
}

void ExpectRefused(const Recipe& recipe,
                   const ::testing::Matcher<std::string>& message) {
  EXPECT_THAT(Validate(recipe),
              StatusIs(absl::StatusCode::kInvalidArgument, message));
}

TEST(RecipeTest, RefusesMixesWithTheReason) {
  Recipe r = Named("tensorwise");
  r.dgrad.b.is_float8 = false;
  ExpectRefused(
      r, AllOf(HasSubstr("dgrad.g is float8"), HasSubstr("dgrad.w is not")));

  r = Named("tensorwise");
  r.wgrad.b.cast.dtype = DType::kF8E5M2;
  ExpectRefused(
      r, AllOf(HasSubstr("wgrad.g and wgrad.x"), HasSubstr("both f8_e5m2")));

  r = Named("rowwise");
  r.forward.a.mode = ScalingMode::kDelayed;
  ExpectRefused(
      r, AllOf(HasSubstr("forward.x"), HasSubstr("delayed"), HasSubstr("row")));

  // In each multiplication, the side that is right for the other.
  r = Named("rowwise");
  r.forward.b.cast.granularity = Granularity::kColumn;
  ExpectRefused(r, AllOf(HasSubstr("forward.w"), HasSubstr("column")));
  r = Named("rowwise");
  r.dgrad.b.cast.granularity = Granularity::kRow;
  ExpectRefused(r, AllOf(HasSubstr("dgrad.w"), HasSubstr("row")));
  r = Named("blockwise");
  r.wgrad.a.cast.granularity = Granularity::kBlock1x128;
  ExpectRefused(r, AllOf(HasSubstr("wgrad.g"), HasSubstr("1x128")));

  r = Named("blockwise");
  r.forward.fast_accumulation = true;
  ExpectRefused(r, AllOf(HasSubstr("forward has fast accumulation"),
                         HasSubstr("128x128")));

  r = Named("tensorwise");
  r.forward.a.cast.dtype = DType::kBf16;
  ExpectRefused(r, AllOf(HasSubstr("forward.x"), HasSubstr("bf16")));

  r = Named("tensorwise_delayed");
  r.delayed.history_length = 0;
  ExpectRefused(r, HasSubstr("history_length is 0"));
  r = Named("tensorwise_delayed");
  r.delayed.margin = 33;
  ExpectRefused(r, HasSubstr("margin is 33"));
}

TEST(RecipeTest, MixesThatRun) {
  // e4m3 gradients; row scales beside a tensor's; wgrad in high precision.
  Recipe r = Named("tensorwise");
  r.dgrad.a.cast.dtype = DType::kF8E4M3;
  r.forward.a.cast.granularity = Granularity::kRow;
  r.wgrad = {};
  EXPECT_THAT(Validate(r), IsOk());
}

TEST(RecipeTest, DecideByName) {
  Recipe r = Named("tensorwise");
  EXPECT_TRUE(Decide(r, "layers.0.mlp.up_proj", 64, 32).is_float8);
  const LayerDecision head = Decide(r, "lm_head", 64, 32);
  EXPECT_FALSE(head.is_float8);
  EXPECT_THAT(head.reason, HasSubstr("lm_head"));
  r.filter = {"layers.0.", "layers.3."};
  EXPECT_FALSE(Decide(r, "layers.0.mlp.up_proj", 64, 32).is_float8);
  EXPECT_TRUE(Decide(r, "layers.10.mlp.up_proj", 64, 32).is_float8);
  EXPECT_TRUE(Decide(r, "lm_head", 64, 32).is_float8);
  EXPECT_FALSE(Decide(Named("bf16"), "x", 64, 32).is_float8);
}

// Case 52 (HazyResearch/HipKittens#65, deepseek-ai/DeepGEMM#22): sizes that no
// block and no 16 divides are taken, blocks included. linear_values_test runs
// them.
TEST(RecipeTest, AnySizeIsTaken) {
  for (const std::string& name : RecipeNames()) {
    if (name == "bf16") continue;
    for (const int64_t k : {15, 64, 192, 200}) {
      EXPECT_TRUE(Decide(Named(name.c_str()), "x", 15, k).is_float8) << name;
    }
  }
}

TEST(RecipeTest, SmallLayers) {
  const auto decide = [](const char* name, int64_t n, int64_t k) {
    Recipe r = Named(name);
    r.skip_small_layers = true;
    const LayerDecision decision = Decide(r, "x", n, k);
    if (!decision.is_float8) {
      EXPECT_THAT(decision.reason,
                  AllOf(HasSubstr("small"), HasSubstr(std::to_string(n))));
    }
    return decision.is_float8;
  };
  for (const char* name : {"tensorwise", "tensorwise_delayed"}) {
    EXPECT_FALSE(decide(name, 1024, 4096));
    EXPECT_TRUE(decide(name, 1025, 4096));
    EXPECT_TRUE(decide(name, 1024, 4097));
  }
  for (const char* name : {"rowwise", "rowwise_gw_hp"}) {
    EXPECT_FALSE(decide(name, 2048, 8192));
    EXPECT_FALSE(decide(name, 8192, 1024));
    EXPECT_FALSE(decide(name, 4096, 2048));
    EXPECT_TRUE(decide(name, 4097, 2048));
    EXPECT_TRUE(decide(name, 4096, 2049));
    EXPECT_TRUE(decide(name, 2049, 2049));
    EXPECT_TRUE(decide(name, 4097, 1025));
  }
  EXPECT_TRUE(Decide(Named("rowwise"), "x", 16, 16).is_float8);
}

const std::vector<LayerShape> kToy = {
    {"in", 15, 32}, {"output", 32, 32}, {"out", 64, 32}};

// Case 51 (pytorch/torchtitan#1063, #1391). A size of 15 is no reason here.
TEST(RecipeTest, TableSaysWhatIsFloat8AndWhy) {
  Recipe r = Named("tensorwise");
  r.filter = {"in", "output"};
  OCTET_ASSERT_OK_AND_ASSIGN(const std::string table, DescribeLayers(r, kToy));
  const std::vector<std::string> lines = absl::StrSplit(table, '\n');
  ASSERT_EQ(lines.size(), 5u) << table;
  EXPECT_THAT(lines[0], AllOf(HasSubstr("layer"), HasSubstr("float8")));
  EXPECT_THAT(lines[1],
              AllOf(StartsWith("in "), HasSubstr(" 15 "), HasSubstr(" 32 "),
                    HasSubstr(" no "), HasSubstr("filter \"in\"")));
  EXPECT_THAT(lines[2], AllOf(StartsWith("output "), HasSubstr(" no "),
                              HasSubstr("filter \"output\"")));
  EXPECT_THAT(lines[3], AllOf(StartsWith("out "), HasSubstr(" yes "),
                              HasSubstr("tensorwise"), Not(HasSubstr("no"))));
}

TEST(RecipeTest, BlocksThatAreAlikeShareARow) {
  Recipe r = Named("tensorwise");
  r.filter = {"h.2.", "head"};
  std::vector<LayerShape> layers;
  for (int i = 0; i < 6; ++i) {
    layers.push_back({absl::StrCat("h.", i, ".up"), i == 5 ? 48 : 32, 16});
  }
  layers.push_back({"head", 64, 16});
  OCTET_ASSERT_OK_AND_ASSIGN(const std::string table,
                             DescribeLayers(r, layers));
  const std::vector<std::string> lines = absl::StrSplit(table, '\n');
  ASSERT_EQ(lines.size(), 6u) << table;
  EXPECT_THAT(lines[1],
              AllOf(StartsWith("h.{0-1,3-4}.up "), HasSubstr(" yes ")));
  EXPECT_THAT(lines[2], AllOf(StartsWith("h.2.up "), HasSubstr(" no ")));
  EXPECT_THAT(lines[3], AllOf(StartsWith("h.5.up "), HasSubstr(" 48 ")));
  EXPECT_THAT(lines[4], AllOf(StartsWith("head "), HasSubstr(" no ")));
}

// Case 51 (huggingface/accelerate#1188).
TEST(RecipeTest, FilterThatMatchesNothingIsAnError) {
  Recipe r = Named("tensorwise");
  r.filter = {"output", "lm_heed"};
  EXPECT_THAT(
      DescribeLayers(r, kToy),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("\"lm_heed\""), HasSubstr("in, output, out"))));
  std::vector<LayerShape> many;
  for (int i = 0; i < 100; ++i) {
    many.push_back({absl::StrCat("h.", i, ".up"), 32, 16});
  }
  for (int i = 0; i < 9; ++i) {
    many.push_back({absl::StrCat("head", i), 64, 16});
  }
  EXPECT_THAT(DescribeLayers(r, many),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("layers are h.{0-99}.up, head0, head1, head2, "
                                 "head3, head4, head5, head6, and 2 more")));
  r.filter = {};
  EXPECT_THAT(DescribeLayers(r, kToy), IsOk());
  EXPECT_THAT(DescribeLayers(r, {}), IsOk());
  // Nothing to keep from float8.
  EXPECT_THAT(DescribeLayers(Named("bf16"), kToy), IsOk());
}

}  // namespace
}  // namespace octet::float8
