// SPDX-License-Identifier: Apache-2.0

// Which layers a recipe applies to.

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "float8/recipe.h"

namespace octet::float8 {
namespace {

// torchao's thresholds (_auto_filter_for_recipe), measured on an H100: below
// them a float8 layer is slower than a bf16 one. They know two families;
// rowwise_gw_hp casts by row and takes rowwise's, and so do block scales, whose
// casts cost no less.
bool IsSmall(const Recipe& recipe, int64_t n, int64_t k) {
  const bool is_tensorwise =
      recipe.forward.a.cast.granularity == Granularity::kTensor &&
      recipe.forward.b.cast.granularity == Granularity::kTensor;
  if (is_tensorwise) return k <= 4096 && n <= 1024;
  return n <= 2048 || k <= 1024 || (n <= 4096 && k <= 2048);
}

}  // namespace

LayerDecision Decide(const Recipe& recipe, absl::string_view layer, int64_t n,
                     int64_t k) {
  if (!UsesFloat8(recipe)) {
    return {false, absl::StrCat("recipe ", recipe.name, " has no float8")};
  }
  for (const std::string& word : recipe.filter) {
    if (absl::StrContains(layer, word)) {
      return {false, absl::StrCat("name matches filter \"", word, "\"")};
    }
  }
  if (recipe.skip_small_layers && IsSmall(recipe, n, k)) {
    return {false, absl::StrCat("too small to gain from ", recipe.name, ": n ",
                                n, ", k ", k)};
  }
  return {true, recipe.name};
}

absl::StatusOr<std::string> DescribeLayers(
    const Recipe& recipe, absl::Span<const LayerShape> layers) {
  size_t width = 5;
  std::vector<absl::string_view> names;
  for (const LayerShape& layer : layers) {
    names.push_back(layer.name);
    width = std::max(width, layer.name.size());
  }
  for (const std::string& word : recipe.filter) {
    const bool matches = std::any_of(
        names.begin(), names.end(),
        [&](absl::string_view name) { return absl::StrContains(name, word); });
    if (!matches && UsesFloat8(recipe)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "recipe: filter \"", word, "\" matches no layer; the layers are ",
          absl::StrJoin(names, ", ")));
    }
  }
  std::string table = absl::StrFormat("%-*s %8s %8s  %-6s  %s\n", width,
                                      "layer", "n", "k", "float8", "why");
  for (const LayerShape& layer : layers) {
    const LayerDecision decision = Decide(recipe, layer.name, layer.n, layer.k);
    absl::StrAppendFormat(&table, "%-*s %8d %8d  %-6s  %s\n", width, layer.name,
                          layer.n, layer.k, decision.is_float8 ? "yes" : "no",
                          decision.reason);
  }
  return table;
}

}  // namespace octet::float8
