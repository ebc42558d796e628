// SPDX-License-Identifier: Apache-2.0

// Which layers a recipe applies to.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
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

// Layers that differ in one number of their names alone.
struct Row {
  std::string before;            // up to the number
  std::string after;             // from there on
  std::vector<int64_t> numbers;  // empty: there is no number in the name
  int64_t n;
  int64_t k;
  LayerDecision decision;

  bool IsLike(const Row& o) const {
    return before == o.before && after == o.after && n == o.n && k == o.k &&
           numbers.empty() == o.numbers.empty() &&
           decision.is_float8 == o.decision.is_float8 &&
           decision.reason == o.decision.reason;
  }
};

// Splits the name at its first part between dots that is a number.
Row RowOf(const Recipe& recipe, const LayerShape& layer) {
  Row row{layer.name, "",      {},
          layer.n,    layer.k, Decide(recipe, layer.name, layer.n, layer.k)};
  const std::vector<std::string> parts = absl::StrSplit(layer.name, '.');
  for (size_t i = 0; i < parts.size(); ++i) {
    int64_t number;
    if (!absl::SimpleAtoi(parts[i], &number)) continue;
    row.numbers = {number};
    row.before = absl::StrJoin(parts.begin(), parts.begin() + i, ".");
    row.after = absl::StrJoin(parts.begin() + i + 1, parts.end(), ".");
    break;
  }
  return row;
}

// "model.layers.{0-3,5}.mlp.up_proj"; braces only around several numbers.
std::string NameOf(const Row& row) {
  if (row.numbers.empty()) return row.before;
  std::string numbers;
  for (size_t i = 0; i < row.numbers.size();) {
    size_t last = i;
    while (last + 1 < row.numbers.size() &&
           row.numbers[last + 1] == row.numbers[last] + 1) {
      ++last;
    }
    absl::StrAppend(&numbers, numbers.empty() ? "" : ",", row.numbers[i]);
    if (last > i) absl::StrAppend(&numbers, "-", row.numbers[last]);
    i = last + 1;
  }
  if (row.numbers.size() > 1) numbers = absl::StrCat("{", numbers, "}");
  return absl::StrCat(row.before, row.before.empty() ? "" : ".", numbers,
                      row.after.empty() ? "" : ".", row.after);
}

std::vector<Row> RowsOf(const Recipe& recipe,
                        absl::Span<const LayerShape> layers) {
  std::vector<Row> rows;
  for (const LayerShape& layer : layers) {
    const Row row = RowOf(recipe, layer);
    const auto like = std::find_if(rows.begin(), rows.end(),
                                   [&](const Row& r) { return r.IsLike(row); });
    if (like == rows.end() || row.numbers.empty()) {
      rows.push_back(row);
    } else {
      like->numbers.push_back(row.numbers[0]);
    }
  }
  return rows;
}

// What fits a message: the first rows' names.
std::string SomeNames(const std::vector<Row>& rows) {
  constexpr size_t kMost = 8;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(rows.size(), kMost); ++i) {
    names.push_back(NameOf(rows[i]));
  }
  if (rows.size() > kMost) {
    names.push_back(absl::StrCat("and ", rows.size() - kMost, " more"));
  }
  return absl::StrJoin(names, ", ");
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
  const std::vector<Row> rows = RowsOf(recipe, layers);
  std::vector<absl::string_view> names;
  for (const LayerShape& layer : layers) names.push_back(layer.name);
  for (const std::string& word : recipe.filter) {
    const bool matches = std::any_of(
        names.begin(), names.end(),
        [&](absl::string_view name) { return absl::StrContains(name, word); });
    if (!matches && UsesFloat8(recipe)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "recipe: filter \"", word, "\" matches no layer; the layers are ",
          SomeNames(rows)));
    }
  }
  size_t width = 5;
  for (const Row& row : rows) width = std::max(width, NameOf(row).size());
  std::string table = absl::StrFormat("%-*s %8s %8s  %-6s  %s\n", width,
                                      "layer", "n", "k", "float8", "why");
  for (const Row& row : rows) {
    absl::StrAppendFormat(
        &table, "%-*s %8d %8d  %-6s  %s\n", width, NameOf(row), row.n, row.k,
        row.decision.is_float8 ? "yes" : "no", row.decision.reason);
  }
  return table;
}

}  // namespace octet::float8
