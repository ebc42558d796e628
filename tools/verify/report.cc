// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/float16.h"

namespace octet::tools {
namespace {

double At(const TensorView& view, int64_t i) {
  return view.dtype() == DType::kBf16 ? ToFloat(view.as<Bfloat16>()[i])
                                      : view.as<float>()[i];
}

// What the table is sorted by: NaN first.
double Badness(const VerifyItem& item) {
  if (std::isnan(item.error)) return std::numeric_limits<double>::infinity();
  if (item.error == 0.0) return 0.0;
  return item.error / item.tolerance;
}

}  // namespace

bool VerifyReport::Passed() const {
  return !items.empty() &&
         std::all_of(items.begin(), items.end(),
                     [](const VerifyItem& item) { return item.Passed(); });
}

double RelativeError(const TensorView& a, const TensorView& b) {
  const auto known = [](const TensorView& view) {
    return view.dtype() == DType::kF32 || view.dtype() == DType::kBf16;
  };
  if (a.shape() != b.shape() || !known(a) || !known(b)) return std::nan("");
  double difference = 0.0;
  double norm = 0.0;
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    const double expected = At(b, i);
    const double delta = At(a, i) - expected;
    difference += delta * delta;
    norm += expected * expected;
  }
  return difference == 0.0 ? 0.0 : std::sqrt(difference / norm);
}

std::string Format(const VerifyReport& report, int64_t lines) {
  std::vector<VerifyItem> sorted = report.items;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const VerifyItem& a, const VerifyItem& b) {
                     return Badness(a) > Badness(b);
                   });
  int64_t failed = 0;
  size_t width = 6;
  for (const VerifyItem& item : sorted) {
    failed += item.Passed() ? 0 : 1;
    width = std::max(width, item.name.size());
  }
  std::string out = absl::StrFormat(
      "%s: %s, %d compared, %d out of tolerance\n", report.path,
      report.Passed() ? "passed" : "FAILED", sorted.size(), failed);
  if (sorted.empty()) return out;
  const int column = static_cast<int>(width);
  absl::StrAppendFormat(&out, "  %-*s  %10s  %10s\n", column, "tensor", "error",
                        "tolerance");
  for (size_t i = 0; i < sorted.size(); ++i) {
    const VerifyItem& item = sorted[i];
    if (static_cast<int64_t>(i) >= lines && item.Passed()) break;
    absl::StrAppendFormat(&out, "  %-*s  %10.2e  %10.2e  %s%s\n", column,
                          item.name, item.error, item.tolerance, item.unit,
                          item.Passed() ? "" : "  FAILED");
  }
  return out;
}

}  // namespace octet::tools
