// SPDX-License-Identifier: Apache-2.0

#include "float8/recipe_override.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace octet::float8 {
namespace {

struct OperandName {
  const char* name;
  GemmPlan Recipe::*gemm;
  OperandPlan GemmPlan::*operand;
};
constexpr OperandName kOperands[] = {
    {"forward.x", &Recipe::forward, &GemmPlan::a},
    {"forward.w", &Recipe::forward, &GemmPlan::b},
    {"dgrad.g", &Recipe::dgrad, &GemmPlan::a},
    {"dgrad.w", &Recipe::dgrad, &GemmPlan::b},
    {"wgrad.g", &Recipe::wgrad, &GemmPlan::a},
    {"wgrad.x", &Recipe::wgrad, &GemmPlan::b},
};

struct GemmName {
  const char* name;
  GemmPlan Recipe::*gemm;
};
constexpr GemmName kGemms[] = {
    {"forward", &Recipe::forward},
    {"dgrad", &Recipe::dgrad},
    {"wgrad", &Recipe::wgrad},
};

constexpr const char* kOperandFields[] = {"dtype", "granularity", "rounding",
                                          "scaling"};
constexpr const char* kOtherKeys[] = {"delayed.history_length",
                                      "delayed.margin", "delayed.reduction",
                                      "filter", "skip_small_layers"};

absl::Status BadValue(absl::string_view key, absl::string_view value,
                      absl::string_view known) {
  return absl::InvalidArgumentError(absl::StrCat(
      "recipe: ", key, " = \"", value, "\"; known values: ", known));
}

absl::Status SetBool(absl::string_view key, absl::string_view value,
                     bool* out) {
  if (value != "true" && value != "false") {
    return BadValue(key, value, "true, false");
  }
  *out = value == "true";
  return absl::OkStatus();
}

absl::Status SetDType(absl::string_view key, absl::string_view value,
                      OperandPlan* plan) {
  if (value == "high_precision") {
    plan->is_float8 = false;
    return absl::OkStatus();
  }
  if (value == "e4m3" || value == Name(DType::kF8E4M3)) {
    plan->cast.dtype = DType::kF8E4M3;
  } else if (value == "e5m2" || value == Name(DType::kF8E5M2)) {
    plan->cast.dtype = DType::kF8E5M2;
  } else {
    return BadValue(key, value, "e4m3, e5m2, high_precision");
  }
  plan->is_float8 = true;
  return absl::OkStatus();
}

absl::Status SetRounding(absl::string_view key, absl::string_view value,
                         OperandPlan* plan) {
  for (const ScaleRounding rounding :
       {ScaleRounding::kExact, ScaleRounding::kPowerOfTwo,
        ScaleRounding::kE8m0}) {
    if (value == Name(rounding)) {
      plan->cast.rounding = rounding;
      return absl::OkStatus();
    }
  }
  return BadValue(key, value, "exact, pow2, e8m0");
}

absl::Status SetOperandField(absl::string_view key, absl::string_view field,
                             absl::string_view value, OperandPlan* plan) {
  if (field == "dtype") return SetDType(key, value, plan);
  if (field == "rounding") return SetRounding(key, value, plan);
  if (field == "granularity") {
    const absl::StatusOr<Granularity> parsed = ParseGranularity(value);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "recipe: ", key, " = \"", value, "\": ", parsed.status().message()));
    }
    plan->cast.granularity = *parsed;
    return absl::OkStatus();
  }
  if (value != "dynamic" && value != "delayed") {
    return BadValue(key, value, "dynamic, delayed");
  }
  plan->mode =
      value == "delayed" ? ScalingMode::kDelayed : ScalingMode::kDynamic;
  return absl::OkStatus();
}

absl::Status SetOther(Recipe* recipe, absl::string_view key,
                      absl::string_view value) {
  if (key == "skip_small_layers") {
    return SetBool(key, value, &recipe->skip_small_layers);
  }
  if (key == "filter") {
    recipe->filter.clear();
    for (absl::string_view word : absl::StrSplit(value, ',')) {
      word = absl::StripAsciiWhitespace(word);
      if (!word.empty()) recipe->filter.emplace_back(word);
    }
    return absl::OkStatus();
  }
  if (key == "delayed.reduction") {
    if (value != "max" && value != "most_recent") {
      return BadValue(key, value, "max, most_recent");
    }
    recipe->delayed.reduction =
        value == "max" ? AmaxReduction::kMax : AmaxReduction::kMostRecent;
    return absl::OkStatus();
  }
  int number = 0;
  if (!absl::SimpleAtoi(value, &number)) {
    return BadValue(key, value, "whole numbers");
  }
  if (key == "delayed.margin") {
    recipe->delayed.margin = number;
  } else {
    recipe->delayed.history_length = number;
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> OverrideKeys() {
  std::vector<std::string> keys;
  for (const OperandName& operand : kOperands) {
    for (const char* field : kOperandFields) {
      keys.push_back(absl::StrCat(operand.name, ".", field));
    }
  }
  for (const GemmName& gemm : kGemms) {
    keys.push_back(absl::StrCat(gemm.name, ".fast_accumulation"));
  }
  for (const char* key : kOtherKeys) keys.push_back(key);
  return keys;
}

absl::Status ApplyOverride(Recipe* recipe, absl::string_view key,
                           absl::string_view value) {
  for (const OperandName& operand : kOperands) {
    for (const char* field : kOperandFields) {
      if (key == absl::StrCat(operand.name, ".", field)) {
        return SetOperandField(key, field, value,
                               &(recipe->*operand.gemm.*operand.operand));
      }
    }
  }
  for (const GemmName& gemm : kGemms) {
    if (key == absl::StrCat(gemm.name, ".fast_accumulation")) {
      return SetBool(key, value, &(recipe->*gemm.gemm).fast_accumulation);
    }
  }
  for (const char* known : kOtherKeys) {
    if (key == known) return SetOther(recipe, key, value);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("recipe: unknown key ", key, " = \"", value,
                   "\"; known: ", absl::StrJoin(OverrideKeys(), ", ")));
}

}  // namespace octet::float8
