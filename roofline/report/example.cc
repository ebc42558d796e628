// SPDX-License-Identifier: Apache-2.0

// usage: example FOLDER
//
// Writes pages and pictures of made-up numbers: full, empty, and with names
// that want escaping. report_test.py reads them; a person may look at them.
#include <cmath>
#include <iostream>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "roofline/report/page.h"
#include "roofline/report/pictures.h"

namespace octet::roofline {
namespace {

constexpr char kOdd[] = "<b>&\"' \xC3\xA9 \xFF \x01 ]]> --";

ReportSection SpeedUps(const std::string& title) {
  ReportSection section;
  section.heading = title;
  section.paragraphs = {"Numbers of a formula, to look at the page."};
  section.table.columns = {"M", "N", "bf16", "float8", "speed-up"};
  HeatMap map;
  map.title = absl::StrCat(title, ", K = 4096");
  map.x_name = "N";
  map.y_name = "M";
  for (int64_t n = 512; n <= 65536; n *= 2) map.x.push_back(SizeLabel(n));
  for (int64_t m = 16; m <= 65536; m *= 4) {
    map.y.push_back(SizeLabel(m));
    for (int64_t n = 512; n <= 65536; n *= 2) {
      const double speed = 2.0 - 6.0 / std::log2(1.0 * m) + 0.01 * n / 4096;
      map.values.push_back(m == 16 && n == 512
                               ? std::numeric_limits<double>::quiet_NaN()
                               : speed);
      const double bf16 = 2e-14 * m * n + 1e-5;
      section.table.rows.push_back({absl::StrCat(m), absl::StrCat(n),
                                    TimeLabel(bf16), TimeLabel(bf16 / speed),
                                    absl::StrCat(speed)});
    }
  }
  section.pictures = {{"speedup", HeatMapSvg(map)}};
  return section;
}

ReportSection Times(const std::string& odd) {
  ReportSection section;
  section.heading = "Time by part";
  StackedBars bars;
  bars.title = absl::StrCat("One step, by part ", odd);
  bars.parts = {"GEMM",
                "cast",
                "attention",
                "norm",
                "head and loss",
                "optimizer",
                odd.empty() ? "exposed communication" : odd};
  bars.bars = {{"bf16", {0.49, 0.0, 0.108, 0.025, 0.037, 0.053, 0.01}, 0.0},
               {absl::StrCat("tensorwise ", odd),
                {0.277, 0.026, 0.108, 0.025, 0.037, 0.053, 0.02},
                0.0}};
  section.pictures = {{"parts", StackedBarsSvg(bars)}};
  RooflinePlot plot;
  plot.title = absl::StrCat("Roofline of an H200 ", odd);
  plot.bytes_per_second = 4.8e12;
  plot.ceilings = {{"bf16", 989e12}, {"float8", 1979e12}};
  for (int i = 0; i < 6; ++i) {
    const double intensity = 16.0 * std::pow(3.0, i);
    const double rate = std::min(1.2e15, intensity * 4e12);
    plot.points.push_back({"measured", odd, intensity, rate * 0.9, false});
    plot.points.push_back({"predicted", odd, intensity, rate, true});
  }
  section.pictures.push_back({"roofline", RooflinePlotSvg(plot)});
  section.table.columns = {"part", "seconds"};
  for (size_t i = 0; i < bars.parts.size(); ++i) {
    section.table.rows.push_back(
        {bars.parts[i], absl::StrCat(bars.bars[1].seconds[i])});
  }
  return section;
}

ReportSection Empty() {
  ReportSection section;
  section.heading = "Nothing";
  section.pictures = {{"empty-heat", HeatMapSvg({})},
                      {"empty-bars", StackedBarsSvg({})},
                      {"empty-roofline", RooflinePlotSvg({})}};
  section.table.columns = {"none"};
  return section;
}

absl::Status Write(const std::string& folder) {
  Report full;
  full.title = "Does float8 pay on an H200?";
  full.command = "roofline linear --gpu=h200 --html=report.html";
  full.facts = {{"GPU", "NVIDIA H200"},
                {"Tokens/s", "16,234"},
                {"MFU (of bf16 peak)", "78.2%"},
                {"Peak memory", "104.3 GiB"}};
  full.sections = {SpeedUps("Speed-up of a linear layer"), Times("")};
  Report odd;
  odd.title = kOdd;
  odd.command = kOdd;
  odd.facts = {{kOdd, kOdd}};
  odd.sections = {Times(kOdd), Empty()};
  odd.sections[0].heading = kOdd;
  odd.sections[0].paragraphs = {kOdd};
  odd.sections[0].table.columns = {kOdd, "seconds"};
  for (const auto& [name, report] :
       {std::pair<std::string, const Report*>{"full", &full}, {"odd", &odd}}) {
    absl::Status status =
        WriteReportPictures(absl::StrCat(folder, "/", name), *report);
    status.Update(
        WriteReportHtml(absl::StrCat(folder, "/", name, ".html"), *report));
    if (!status.ok()) return status;
  }
  return WriteReportHtml(absl::StrCat(folder, "/nothing.html"), {});
}

}  // namespace
}  // namespace octet::roofline

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: example FOLDER\n";
    return 2;
  }
  const absl::Status status = octet::roofline::Write(argv[1]);
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
