// SPDX-License-Identifier: Apache-2.0

#include "train/job_recipe.h"

#include "base/status_macros.h"
#include "float8/recipe_override.h"

namespace octet::train {

absl::StatusOr<float8::Recipe> MakeRecipe(const JobConfig& config) {
  OCTET_ASSIGN_OR_RETURN(float8::Recipe recipe,
                         float8::NamedRecipe(config.float8.recipe));
  recipe.filter.clear();
  for (const std::string& word : config.float8.filter_fqns) {
    if (word == "auto_filter_small_kn") {  // torchtitan's name for it
      recipe.skip_small_layers = true;
    } else {
      recipe.filter.push_back(word);
    }
  }
  for (const auto& [key, value] : config.float8.overrides) {
    OCTET_RETURN_IF_ERROR(float8::ApplyOverride(&recipe, key, value));
  }
  OCTET_RETURN_IF_ERROR(float8::Validate(recipe));
  return recipe;
}

DType DTypeOf(absl::string_view word) {
  return word == "bfloat16" ? DType::kBf16 : DType::kF32;
}

}  // namespace octet::train
