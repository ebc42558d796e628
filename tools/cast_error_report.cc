// SPDX-License-Identifier: Apache-2.0
#include "tools/cast_error_report.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/tensor.h"
#include "float8/recipe.h"
#include "float8/scaling.h"
#include "io/safetensors.h"
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

constexpr char kHeader[] =
    "tensor                            dtype and shape       recipe            "
    "  "
    "as    cast                     SQNR dB   saturated  underflowed\n";

std::string Line(const std::string& name, const TensorView& tensor,
                 const CastCase& c, const CastError& error) {
  return absl::StrFormat(
      "%-32s  %-20s  %-18s  %-4s  %-21s  %9s  %10s  %11s%s\n", name,
      absl::StrCat(Name(tensor.dtype()), " ", tensor.shape().ToString()),
      c.recipe, c.operands,
      absl::StrCat(c.plan.dtype == DType::kF8E5M2 ? "e5m2" : "e4m3", " ",
                   Name(c.plan.granularity), " ", Name(c.plan.rounding)),
      error.elements == 0 ? "n/a" : absl::StrFormat("%.2f", error.sqnr_db),
      Share(error.saturated, error.elements),
      Share(error.underflowed, error.elements),
      error.not_finite == 0
          ? ""
          : absl::StrCat("  ", error.not_finite, " NaN or Inf"));
}

bool IsCastable(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBf16 || dtype == DType::kF16;
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
  OCTET_ASSIGN_OR_RETURN(const io::SafetensorsFile file,
                         io::SafetensorsFile::Open(path));
  std::vector<std::string> names = file.names();
  if (!tensor.empty()) names = {std::string(tensor)};
  std::string out = kHeader;
  int64_t skipped = 0;
  for (const std::string& name : names) {
    OCTET_ASSIGN_OR_RETURN(const TensorView view, file.Find(name));
    if (!IsCastable(view.dtype())) {
      if (!tensor.empty()) {
        return absl::FailedPreconditionError(
            absl::StrCat(path, ": tensor ", name, " is ", Name(view.dtype()),
                         ", not f32, bf16 or f16"));
      }
      ++skipped;
      continue;
    }
    for (const CastCase& c : cases) {
      OCTET_ASSIGN_OR_RETURN(const CastError error, MeasureCast(view, c.plan));
      out += Line(name, view, c, error);
    }
  }
  if (skipped > 0) {
    absl::StrAppend(&out, skipped, " tensors of other types are left out\n");
  }
  return out;
}

}  // namespace octet::tools
