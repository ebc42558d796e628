// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/breakeven_page.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "roofline/cost.h"
#include "roofline/report/pictures.h"
#include "tools/roofline/page.h"

namespace octet::tools {
namespace {

std::vector<roofline::ReportFact> Facts(const LinearSetup& setup) {
  const roofline::Hardware& h = setup.hardware;
  return {
      {"GPU", h.name},
      {"Recipe", setup.options.recipe},
      {"Cost model", std::string(roofline::CostModelName(setup.options.model))},
      {"Dense peaks, bf16 and float8",
       absl::StrFormat("%.4g, %.4g TFLOP/s", h.bf16_flops * 1e-12,
                       h.fp8_flops * 1e-12)},
      {"Memory", absl::StrFormat("%.3g TB/s", h.memory_rate * 1e-12)},
      {"GEMM times", setup.lookups != nullptr ? "measured" : "roofline"}};
}

}  // namespace

roofline::Report SpeedupPage(const LinearSetup& setup, absl::string_view title,
                             const SpeedupMap& map, const Table& table) {
  roofline::Report report;
  report.title = absl::StrCat("Where ", setup.options.recipe, " pays on ",
                              setup.hardware.name);
  report.facts = Facts(setup);
  roofline::HeatMap picture;
  picture.title = std::string(title);
  picture.x_name = map.x_name;
  picture.y_name = map.y_name;
  picture.x = map.x;
  picture.y = map.y;
  picture.values = map.speedups;
  picture.break_even = map.break_even;
  roofline::ReportSection section;
  section.heading = "Speed-up over bf16";
  section.paragraphs = {
      "Forward and backward of a linear layer, with casts. Predicted, not "
      "measured."};
  section.pictures.push_back({"speedup", HeatMapSvg(picture)});
  section.table = PageTable(table);
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace octet::tools
