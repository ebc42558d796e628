// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "roofline/report/pictures.h"
#include "roofline/report/svg.h"

namespace octet::roofline {
namespace {

constexpr double kLeft = 44.0;
constexpr double kPlotHeight = 230.0;

bool IsPositive(double value) { return std::isfinite(value) && value > 0.0; }

// Decades from `low` to `high`.
struct Axis {
  int low = 0, high = 1;
  double from = 0.0, to = 1.0;  // in the picture
  double At(double value) const {
    return from + (to - from) * (std::log10(value) - low) / (high - low);
  }
};

struct Range {
  double low = 0.0, high = 0.0;
  void Take(double value) {
    if (!IsPositive(value)) return;
    low = high == 0.0 ? value : std::min(low, value);
    high = std::max(high, value);
  }
};

Axis AxisOf(const Range& range, double from, double to) {
  Axis axis;
  axis.from = from;
  axis.to = to;
  if (range.high == 0.0) return axis;
  axis.low = static_cast<int>(std::floor(std::log10(range.low)));
  axis.high = static_cast<int>(std::ceil(std::log10(range.high) + 0.05));
  if (axis.high <= axis.low) axis.high = axis.low + 1;
  return axis;
}

std::string Power(int exponent) {
  return exponent >= 0 && exponent <= 4
             ? absl::StrCat(static_cast<int64_t>(std::pow(10.0, exponent)))
             : absl::StrFormat("1e%d", exponent);
}

void DrawAxes(const Axis& x, const Axis& y, Svg* svg) {
  // At most about seven labels fit under the axis.
  const int step = std::max(1, (x.high - x.low + 5) / 6);
  for (int e = x.low; e <= x.high; ++e) {
    const double at = x.At(std::pow(10.0, e));
    svg->Path(absl::StrCat("M", Coordinate(at), " ", Coordinate(y.to), "V",
                           Coordinate(y.from)),
              e == x.low ? "axis" : "grid");
    if ((e - x.low) % step != 0) continue;
    svg->Text(at, y.from + 15.0, Power(e), e == x.high ? "end" : "middle");
  }
  for (int e = y.low; e <= y.high; ++e) {
    const double at = y.At(std::pow(10.0, e));
    svg->Path(absl::StrCat("M", Coordinate(x.from), " ", Coordinate(at), "H",
                           Coordinate(x.to)),
              e == y.low ? "axis" : "grid");
    svg->Text(kLeft - 6.0, at + 4.0, Power(e), "end");
  }
}

void DrawRoofs(const RooflinePlot& plot, const Axis& x, const Axis& y,
               Svg* svg) {
  std::vector<RooflineCeiling> ceilings;
  for (const RooflineCeiling& c : plot.ceilings) {
    if (IsPositive(c.flops_per_second)) ceilings.push_back(c);
  }
  std::sort(ceilings.begin(), ceilings.end(),
            [](const RooflineCeiling& a, const RooflineCeiling& b) {
              return a.flops_per_second > b.flops_per_second;
            });
  if (ceilings.empty() || !IsPositive(plot.bytes_per_second)) return;
  const double rate = plot.bytes_per_second;
  const double left =
      std::max(std::pow(10.0, x.low), std::pow(10.0, y.low) * 1e12 / rate);
  double label = -1e9;
  for (size_t i = 0; i < ceilings.size(); ++i) {
    const double flops = ceilings[i].flops_per_second;
    const double ridge = flops / rate;
    const double at = y.At(flops / 1e12);
    // The slope is drawn once, up to the highest ceiling.
    std::string path = absl::StrCat("M", Coordinate(x.At(ridge)), " ",
                                    Coordinate(at), "H", Coordinate(x.to));
    if (i == 0 && left < ridge) {
      path = absl::StrCat("M", Coordinate(x.At(left)), " ",
                          Coordinate(y.At(left * rate / 1e12)), "L",
                          path.substr(1));
    }
    svg->Path(path, "roof");
    // Above the slope, where no point can be; ceilings may be close.
    label = std::max(at + 4.0, label + 14.0);
    svg->Text(x.At(ridge) - 8.0, label,
              absl::StrFormat("%s %.4g", ceilings[i].name, flops / 1e12),
              "end");
  }
}

}  // namespace

std::string RooflinePlotSvg(const RooflinePlot& plot) {
  Svg svg(plot.title);
  Range across, up;
  for (const RooflineCeiling& ceiling : plot.ceilings) {
    up.Take(ceiling.flops_per_second / 1e12);
    if (!IsPositive(plot.bytes_per_second)) continue;
    const double ridge = ceiling.flops_per_second / plot.bytes_per_second;
    across.Take(ridge / 20.0);
    across.Take(ridge * 5.0);
    up.Take(ceiling.flops_per_second / 1e12 / 20.0);
  }
  for (const RooflinePoint& point : plot.points) {
    if (!IsPositive(point.flops_per_byte)) continue;
    if (!IsPositive(point.flops_per_second)) continue;
    across.Take(point.flops_per_byte);
    up.Take(point.flops_per_second / 1e12);
  }
  if (across.high == 0.0 || up.high == 0.0) {
    svg.Paragraph("No data.");
    return svg.Finish();
  }
  svg.Text(0.0, svg.bottom() + 12.0, "TFLOP/s \xE2\x86\x91", "soft");
  svg.Advance(24.0);
  const Axis x = AxisOf(across, kLeft, Svg::kWidth - 4.0);
  const Axis y = AxisOf(up, svg.bottom() + kPlotHeight, svg.bottom());
  DrawAxes(x, y, &svg);
  DrawRoofs(plot, x, y, &svg);
  std::map<std::string, size_t> series;
  std::vector<std::string> names;
  for (const RooflinePoint& point : plot.points) {
    const auto [at, added] = series.emplace(point.series, series.size());
    if (added) names.push_back(point.series);
    if (!IsPositive(point.flops_per_byte)) continue;
    if (!IsPositive(point.flops_per_second)) continue;
    svg.Circle(
        x.At(point.flops_per_byte), y.At(point.flops_per_second / 1e12), 4.5,
        absl::StrCat(point.is_predicted ? "hollow " : "", "p", at->second % 8),
        absl::StrFormat("%s, %s: %.4g FLOP/byte, %.4g TFLOP/s", point.series,
                        point.label, point.flops_per_byte,
                        point.flops_per_second / 1e12));
  }
  svg.Advance(kPlotHeight + 20.0);
  svg.Text(Svg::kWidth, svg.bottom() + 12.0, "FLOP/byte \xE2\x86\x92",
           "end soft");
  svg.Advance(18.0);
  for (size_t i = 0; i < names.size(); ++i) {
    svg.Legend(names[i], absl::StrCat("p", i % 8));
  }
  svg.EndLegend();
  if (names.empty()) {
    svg.Paragraph("No points.", "soft");
  }
  return svg.Finish();
}

}  // namespace octet::roofline
