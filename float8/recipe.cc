// SPDX-License-Identifier: Apache-2.0

#include "float8/recipe.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/edit_distance.h"
#include "base/status_macros.h"

namespace octet::float8 {
namespace {

constexpr DType kE4M3 = DType::kF8E4M3;
constexpr DType kE5M2 = DType::kF8E5M2;

OperandPlan Float8(DType dtype, Granularity granularity,
                   ScaleRounding rounding = ScaleRounding::kExact,
                   ScalingMode mode = ScalingMode::kDynamic) {
  return {true, {dtype, granularity, rounding}, mode};
}

Recipe Bf16() { return {}; }

Recipe TensorwiseOf(ScalingMode mode) {
  const OperandPlan e4m3 =
      Float8(kE4M3, Granularity::kTensor, ScaleRounding::kExact, mode);
  const OperandPlan e5m2 =
      Float8(kE5M2, Granularity::kTensor, ScaleRounding::kExact, mode);
  Recipe recipe;
  recipe.forward = {e4m3, e4m3, true};
  recipe.dgrad = {e5m2, e4m3, false};
  recipe.wgrad = {e5m2, e4m3, false};
  return recipe;
}

Recipe Tensorwise() { return TensorwiseOf(ScalingMode::kDynamic); }
Recipe TensorwiseDelayed() { return TensorwiseOf(ScalingMode::kDelayed); }

Recipe Rowwise() {
  const OperandPlan row =
      Float8(kE4M3, Granularity::kRow, ScaleRounding::kPowerOfTwo);
  const OperandPlan column =
      Float8(kE4M3, Granularity::kColumn, ScaleRounding::kPowerOfTwo);
  Recipe recipe;
  recipe.forward = {row, row, true};
  recipe.dgrad = {row, column, false};
  recipe.wgrad = {column, column, false};
  return recipe;
}

Recipe RowwiseGwHp() {
  const OperandPlan row =
      Float8(kE4M3, Granularity::kRow, ScaleRounding::kPowerOfTwo);
  Recipe recipe;
  recipe.forward = {row, row, true};
  recipe.dgrad = {
      row, Float8(kE4M3, Granularity::kTensor, ScaleRounding::kPowerOfTwo),
      false};
  return recipe;
}

// Never with fast accumulation: cuBLASLt refuses it for block scales.
Recipe Blockwise() {
  const OperandPlan along_cols = Float8(kE4M3, Granularity::kBlock1x128);
  const OperandPlan along_rows = Float8(kE4M3, Granularity::kBlock128x1);
  const OperandPlan square = Float8(kE4M3, Granularity::kBlock128x128);
  Recipe recipe;
  recipe.forward = {along_cols, square, false};
  recipe.dgrad = {along_cols, square, false};
  recipe.wgrad = {along_rows, along_rows, false};
  return recipe;
}

Recipe Mxfp8() {
  const OperandPlan along_cols =
      Float8(kE4M3, Granularity::kBlock1x32, ScaleRounding::kE8m0);
  const OperandPlan along_rows =
      Float8(kE4M3, Granularity::kBlock32x1, ScaleRounding::kE8m0);
  Recipe recipe;
  recipe.forward = {along_cols, along_cols, false};
  recipe.dgrad = {along_cols, along_rows, false};
  recipe.wgrad = {along_rows, along_rows, false};
  return recipe;
}

struct NamedMaker {
  const char* name;
  Recipe (*make)();
};
constexpr NamedMaker kRecipes[] = {
    {"bf16", &Bf16},
    {"tensorwise", &Tensorwise},
    {"tensorwise_delayed", &TensorwiseDelayed},
    {"rowwise", &Rowwise},
    {"rowwise_gw_hp", &RowwiseGwHp},
    {"blockwise", &Blockwise},
    {"mxfp8", &Mxfp8},
};

// One operand of one multiplication, for the checks.
struct Site {
  const char* name;  // "forward.x"
  const OperandPlan* plan;
  bool contracts_rows;  // of the operand's own matrix
};

bool IsBlock(Granularity granularity) {
  const Tile tile = TileOf(granularity);
  return tile.rows > 1 || tile.cols > 1;
}

absl::Status ValidateOperand(const Site& site) {
  const OperandPlan& plan = *site.plan;
  if (!plan.is_float8) return absl::OkStatus();
  if (!IsFloat8(plan.cast.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("recipe: ", site.name, " is cast to ",
                     Name(plan.cast.dtype), ", which is not a float8 format"));
  }
  if (plan.mode == ScalingMode::kDelayed &&
      plan.cast.granularity != Granularity::kTensor) {
    return absl::InvalidArgumentError(absl::StrCat(
        "recipe: ", site.name, " has delayed scaling of granularity ",
        Name(plan.cast.granularity),
        "; an amax history is kept of whole tensors only"));
  }
  const Tile tile = TileOf(plan.cast.granularity);
  if ((site.contracts_rows ? tile.rows : tile.cols) == 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "recipe: ", site.name, " has granularity ", Name(plan.cast.granularity),
        ", one scale for each element along the contraction, which is along "
        "its ",
        site.contracts_rows ? "rows" : "columns",
        "; a scale must cover more than one product of a sum"));
  }
  return absl::OkStatus();
}

absl::Status ValidateGemm(absl::string_view name, const GemmPlan& gemm,
                          const Site& a, const Site& b) {
  OCTET_RETURN_IF_ERROR(ValidateOperand(a));
  OCTET_RETURN_IF_ERROR(ValidateOperand(b));
  if (gemm.a.is_float8 != gemm.b.is_float8) {
    return absl::InvalidArgumentError(absl::StrCat(
        "recipe: ", a.name, " is ", gemm.a.is_float8 ? "" : "not ",
        "float8 and ", b.name, " is ", gemm.b.is_float8 ? "" : "not ",
        "; a multiplication takes both operands in float8 or neither"));
  }
  if (!gemm.a.is_float8) return absl::OkStatus();
  if (gemm.a.cast.dtype == DType::kF8E5M2 &&
      gemm.b.cast.dtype == DType::kF8E5M2) {
    return absl::InvalidArgumentError(
        absl::StrCat("recipe: ", a.name, " and ", b.name,
                     " are both f8_e5m2, which no device multiplies"));
  }
  if (gemm.fast_accumulation &&
      (IsBlock(gemm.a.cast.granularity) || IsBlock(gemm.b.cast.granularity))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "recipe: ", name, " has fast accumulation with granularities ",
        Name(gemm.a.cast.granularity), " and ", Name(gemm.b.cast.granularity),
        "; no device has it for block scales"));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> RecipeNames() {
  std::vector<std::string> names;
  for (const NamedMaker& entry : kRecipes) names.push_back(entry.name);
  return names;
}

absl::StatusOr<Recipe> NamedRecipe(absl::string_view name) {
  for (const NamedMaker& entry : kRecipes) {
    if (name != entry.name) continue;
    Recipe recipe = entry.make();
    recipe.name = entry.name;
    return recipe;
  }
  std::vector<std::string> names = RecipeNames();
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& x, const std::string& y) {
                     return EditDistance(name, x) < EditDistance(name, y);
                   });
  return absl::InvalidArgumentError(
      absl::StrCat("recipe: unknown name \"", name, "\"",
                   IsNear(name, names[0])
                       ? absl::StrCat("; did you mean \"", names[0], "\"?")
                       : std::string(";"),
                   " Known: ", absl::StrJoin(names, ", ")));
}

bool UsesFloat8(const Recipe& recipe) {
  return recipe.forward.a.is_float8 || recipe.dgrad.a.is_float8 ||
         recipe.wgrad.a.is_float8;
}

absl::Status Validate(const DelayedScalingOptions& options) {
  if (options.history_length < 1 || options.history_length > 65536) {
    return absl::InvalidArgumentError(
        absl::StrCat("recipe: delayed.history_length is ",
                     options.history_length, ", must be 1 to 65536"));
  }
  if (options.margin < -32 || options.margin > 32) {
    return absl::InvalidArgumentError(
        absl::StrCat("recipe: delayed.margin is ", options.margin,
                     ", must be -32 to 32 powers of two"));
  }
  return absl::OkStatus();
}

absl::Status Validate(const Recipe& recipe) {
  OCTET_RETURN_IF_ERROR(ValidateGemm("forward", recipe.forward,
                                     {"forward.x", &recipe.forward.a, false},
                                     {"forward.w", &recipe.forward.b, false}));
  OCTET_RETURN_IF_ERROR(ValidateGemm("dgrad", recipe.dgrad,
                                     {"dgrad.g", &recipe.dgrad.a, false},
                                     {"dgrad.w", &recipe.dgrad.b, true}));
  OCTET_RETURN_IF_ERROR(ValidateGemm("wgrad", recipe.wgrad,
                                     {"wgrad.g", &recipe.wgrad.a, true},
                                     {"wgrad.x", &recipe.wgrad.b, true}));
  return Validate(recipe.delayed);
}

}  // namespace octet::float8
