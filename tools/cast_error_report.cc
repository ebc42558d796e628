// SPDX-License-Identifier: Apache-2.0
#include "tools/cast_error_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "base/tensor.h"
#include "float8/recipe.h"
#include "float8/scaling.h"
#include "io/safetensors.h"
#include "io/safetensors_set.h"
#include "tools/cast_error.h"

namespace octet::tools {
namespace {

struct CastCase {
  std::string recipe;
  std::string operands;  // "x", "w" or "x, w"
  float8::CastPlan plan;
};

absl::StatusOr<std::vector<CastCase>> CasesOf(
    absl::Span<const std::string> recipes) {
  std::vector<CastCase> cases;
  for (const std::string& name : recipes) {
    OCTET_ASSIGN_OR_RETURN(const float8::Recipe recipe,
                           float8::NamedRecipe(name));
    const float8::CastPlan& x = recipe.forward.a.cast;
    const float8::CastPlan& w = recipe.forward.b.cast;
    if (x == w) {
      cases.push_back({name, "x, w", x});
    } else {
      cases.push_back({name, "x", x});
      cases.push_back({name, "w", w});
    }
  }
  return cases;
}

std::string Share(int64_t part, int64_t whole) {
  if (whole == 0) return "n/a";
  return absl::StrFormat(
      "%.4g%%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

using Cells = std::vector<std::string>;

Cells Row(const std::string& name, const TensorView& tensor, const CastCase& c,
          const CastError& error) {
  return {name,
          absl::StrCat(Name(tensor.dtype()), " ", tensor.shape().ToString()),
          c.recipe,
          c.operands,
          absl::StrCat(c.plan.dtype == DType::kF8E5M2 ? "e5m2" : "e4m3", " ",
                       Name(c.plan.granularity), " ", Name(c.plan.rounding)),
          error.elements == 0 ? "n/a" : absl::StrFormat("%.2f", error.sqnr_db),
          Share(error.saturated, error.elements),
          Share(error.underflowed, error.elements),
          error.not_finite == 0
              ? ""
              : absl::StrCat(error.not_finite, " NaN or Inf")};
}

// Columns as wide as their widest cell; numbers stand to the right.
std::string Table(const std::vector<Cells>& rows) {
  constexpr size_t kFirstNumber = 5, kNote = 8;
  std::vector<size_t> widths;
  for (const Cells& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string out;
  for (const Cells& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      const bool is_number = i >= kFirstNumber && i < kNote;
      absl::StrAppend(&line, i == 0 ? "" : "  ", is_number ? space : "", row[i],
                      is_number ? "" : space);
    }
    absl::StripTrailingAsciiWhitespace(&line);
    absl::StrAppend(&out, line, "\n");
  }
  return out;
}

// A matrix that a layer may cast, and no scale: those are rows, columns or
// single numbers, or stand beside the float8 tensor that they belong to.
template <typename Tensors>
absl::StatusOr<bool> IsWorthCasting(const Tensors& tensors,
                                    const std::string& name,
                                    const TensorView& view) {
  if (!IsHighPrecision(view.dtype()) || view.shape().rank() < 2 ||
      view.rows() == 1 || view.cols() == 1) {
    return false;
  }
  for (const auto& [suffix, of] :
       {std::pair<absl::string_view, absl::string_view>{".scale", ".data"},
        {"_scale", ""},
        {"_scale_inv", ""}}) {
    absl::string_view stem = name;
    if (!absl::ConsumeSuffix(&stem, suffix)) continue;
    const std::string data = absl::StrCat(stem, of);
    if (!tensors.Contains(data)) continue;
    OCTET_ASSIGN_OR_RETURN(const TensorView scaled, tensors.Find(data));
    if (IsFloat8(scaled.dtype())) return false;
  }
  return true;
}

// Of a SafetensorsFile or a SafetensorsSet.
template <typename Tensors>
absl::StatusOr<std::string> ReportOf(const Tensors& tensors,
                                     const std::string& path,
                                     absl::string_view tensor,
                                     absl::Span<const CastCase> cases) {
  std::vector<std::string> names = tensors.names();
  if (!tensor.empty()) names = {std::string(tensor)};
  std::vector<Cells> rows = {{"tensor", "dtype and shape", "recipe", "as",
                              "cast", "SQNR dB", "saturated", "underflowed"}};
  int64_t skipped = 0;
  for (const std::string& name : names) {
    OCTET_ASSIGN_OR_RETURN(const TensorView view, tensors.Find(name));
    if (!tensor.empty() && !IsHighPrecision(view.dtype())) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": tensor ", name, " is ", Name(view.dtype()),
                       ", not f32, bf16 or f16"));
    }
    OCTET_ASSIGN_OR_RETURN(const bool is_listed,
                           IsWorthCasting(tensors, name, view));
    if (tensor.empty() && !is_listed) {
      ++skipped;
      continue;
    }
    for (const CastCase& c : cases) {
      OCTET_ASSIGN_OR_RETURN(const CastError error, MeasureCast(view, c.plan));
      rows.push_back(Row(name, view, c, error));
    }
  }
  std::string out = Table(rows);
  if (skipped > 0) {
    absl::StrAppend(&out, skipped, skipped == 1 ? " tensor is" : " tensors are",
                    " left out: no matrix of f32, bf16 or f16, or a scale\n");
  }
  return out;
}

}  // namespace

std::vector<std::string> Float8Recipes() {
  std::vector<std::string> names;
  for (const std::string& name : float8::RecipeNames()) {
    const absl::StatusOr<float8::Recipe> recipe = float8::NamedRecipe(name);
    if (recipe.ok() && recipe->forward.a.is_float8) names.push_back(name);
  }
  return names;
}

absl::StatusOr<std::string> CastErrorReport(
    const std::string& path, absl::string_view tensor,
    absl::Span<const std::string> recipes) {
  OCTET_ASSIGN_OR_RETURN(const std::vector<CastCase> cases, CasesOf(recipes));
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    OCTET_ASSIGN_OR_RETURN(const io::SafetensorsSet set,
                           io::SafetensorsSet::Open(path));
    return ReportOf(set, path, tensor, cases);
  }
  OCTET_ASSIGN_OR_RETURN(const io::SafetensorsFile file,
                         io::SafetensorsFile::Open(path));
  return ReportOf(file, path, tensor, cases);
}

}  // namespace octet::tools
