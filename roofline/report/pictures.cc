// SPDX-License-Identifier: Apache-2.0

#include "roofline/report/pictures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "roofline/report/svg.h"

namespace octet::roofline {
namespace {

// Between the classes h0 to h8; times break-even.
constexpr double kBounds[] = {0.5, 0.8, 0.95, 1.0, 1.05, 1.2, 1.4, 1.6};
constexpr int kNumBounds = 8;

int HeatClass(double ratio) {
  return static_cast<int>(
      std::upper_bound(kBounds, kBounds + kNumBounds, ratio) - kBounds);
}

// The strongest colours want the paper's colour for their text.
bool IsStrong(int heat) { return heat <= 0 || heat >= 7; }

double ValueAt(const HeatMap& map, size_t row, size_t column) {
  const size_t index = row * map.x.size() + column;
  return index < map.values.size() ? map.values[index]
                                   : std::numeric_limits<double>::quiet_NaN();
}

// Where cells lie: row 0 is the lowest.
struct Grid {
  double left, top, width, height;  // of all; of a cell
  size_t rows;
  double X(size_t column) const { return left + width * column; }
  double Y(size_t row) const { return top + height * (rows - 1 - row); }
};

// The borders between cells on either side of break-even.
std::string BreakEvenPath(const HeatMap& map, const Grid& grid) {
  const auto differ = [&](double a, double b) {
    return std::isfinite(a) && std::isfinite(b) &&
           (a >= map.break_even) != (b >= map.break_even);
  };
  std::string path;
  for (size_t r = 0; r < map.y.size(); ++r) {
    for (size_t c = 0; c < map.x.size(); ++c) {
      const double value = ValueAt(map, r, c);
      if (c + 1 < map.x.size() && differ(value, ValueAt(map, r, c + 1))) {
        absl::StrAppend(&path, "M", Coordinate(grid.X(c + 1)), " ",
                        Coordinate(grid.Y(r)), "v", Coordinate(grid.height));
      }
      if (r + 1 < map.y.size() && differ(value, ValueAt(map, r + 1, c))) {
        absl::StrAppend(&path, "M", Coordinate(grid.X(c)), " ",
                        Coordinate(grid.Y(r)), "h", Coordinate(grid.width));
      }
    }
  }
  return path;
}

void DrawCells(const HeatMap& map, const Grid& grid, Svg* svg) {
  // Two digits after the point where they fit, one where those do.
  const int digits = grid.width >= 30.0 ? 2 : grid.width >= 22.0 ? 1 : -1;
  for (size_t r = 0; r < map.y.size(); ++r) {
    for (size_t c = 0; c < map.x.size(); ++c) {
      const double value = ValueAt(map, r, c);
      const bool known = std::isfinite(value);
      const int heat = known ? HeatClass(value / map.break_even) : -1;
      const std::string tip = absl::StrCat(
          map.y_name, " ", map.y[r], ", ", map.x_name, " ", map.x[c], ": ",
          known ? absl::StrFormat("%.3f", value) : "n/a");
      svg->Rect(grid.X(c), grid.Y(r), grid.width, grid.height,
                known ? absl::StrCat("cell h", heat) : "cell na", tip);
      if (digits < 0) continue;
      svg->Text(grid.X(c) + grid.width / 2, grid.Y(r) + grid.height / 2 + 4.0,
                known ? absl::StrFormat("%.*f", digits, value) : "n/a",
                known && IsStrong(heat) ? "middle paper" : "middle ink");
    }
  }
}

void DrawHeatLegend(double break_even, Svg* svg) {
  const double width = Svg::kWidth / (kNumBounds + 1);
  const double y = svg->bottom() + 8.0;
  for (int i = 0; i <= kNumBounds; ++i) {
    svg->Rect(width * i, y, width, 12.0, absl::StrCat("h", i));
    if (i < kNumBounds) {
      svg->Text(width * (i + 1), y + 26.0,
                absl::StrFormat("%.4g", kBounds[i] * break_even), "middle");
    }
  }
  svg->Path(
      absl::StrCat("M", Coordinate(width * 4), " ", Coordinate(y - 4.0), "v20"),
      "even");
  svg->Advance(38.0);
}

struct Unit {
  double seconds;
  const char* name;
};

Unit UnitOf(double seconds) {
  if (seconds >= 1.0) return {1.0, "s"};
  if (seconds >= 1e-3) return {1e-3, "ms"};
  return {1e-6, "us"};
}

// What can be added up.
double Amount(const StackedBar& bar, size_t part) {
  const double value = part < bar.seconds.size() ? bar.seconds[part] : 0.0;
  return std::isfinite(value) && value > 0.0 ? value : 0.0;
}

double Total(const StackedBars& bars, const StackedBar& bar) {
  double total = 0.0;
  for (size_t p = 0; p < bars.parts.size(); ++p) total += Amount(bar, p);
  return total;
}

}  // namespace

std::string SizeLabel(int64_t size) {
  constexpr int64_t kKibi = 1024;
  constexpr int64_t kMebi = kKibi * kKibi;
  if (size >= kMebi && size % kMebi == 0)
    return absl::StrCat(size / kMebi, "M");
  if (size >= kKibi && size % kKibi == 0)
    return absl::StrCat(size / kKibi, "K");
  return absl::StrCat(size);
}

std::string TimeLabel(double seconds) {
  if (!std::isfinite(seconds)) return "n/a";
  if (seconds == 0.0) return "0";
  const Unit unit = UnitOf(std::abs(seconds));
  const double value = seconds / unit.seconds;
  // %.3g would write 1234 us or 1.23e+03 s with an exponent.
  return absl::StrFormat("%.*f %s",
                         std::abs(value) >= 99.95   ? 0
                         : std::abs(value) >= 9.995 ? 1
                                                    : 2,
                         value, unit.name);
}

std::string HeatMapSvg(const HeatMap& map) {
  Svg svg(map.title);
  if (map.x.empty() || map.y.empty()) {
    svg.Paragraph("No data.");
    return svg.Finish();
  }
  size_t letters = 0;
  for (const std::string& label : map.y)
    letters = std::max(letters, label.size());
  Grid grid;
  grid.rows = map.y.size();
  grid.left = Svg::kLetter * std::min<size_t>(letters, 12) + 8.0;
  // Room for the break-even line at the right border.
  grid.width = (Svg::kWidth - 2.0 - grid.left) / map.x.size();
  grid.height = std::clamp(grid.width, 18.0, 30.0);
  svg.Text(0.0, svg.bottom() + 12.0, absl::StrCat(map.y_name, " \xE2\x86\x91"),
           "soft");
  svg.Text(Svg::kWidth, svg.bottom() + 12.0,
           absl::StrCat(map.x_name, " \xE2\x86\x92"), "end soft");
  svg.Advance(18.0);
  grid.top = svg.bottom();
  DrawCells(map, grid, &svg);
  const std::string path = BreakEvenPath(map, grid);
  if (!path.empty()) svg.Path(path, "even");
  for (size_t r = 0; r < map.y.size(); ++r) {
    svg.Text(grid.left - 6.0, grid.Y(r) + grid.height / 2 + 4.0, map.y[r],
             "end");
  }
  svg.Advance(grid.height * map.y.size());
  size_t widest = 1;
  for (const std::string& label : map.x)
    widest = std::max(widest, label.size());
  const size_t every = static_cast<size_t>(
      std::ceil(Svg::kLetter * widest / std::max(grid.width - 2.0, 1.0)));
  for (size_t c = 0; c < map.x.size(); c += every) {
    svg.Text(grid.X(c) + grid.width / 2, svg.bottom() + 15.0, map.x[c],
             "middle");
  }
  svg.Advance(20.0);
  DrawHeatLegend(map.break_even, &svg);
  if (path.empty()) {
    bool any = false, faster = false;
    for (const double value : map.values) {
      if (!std::isfinite(value)) continue;
      any = true;
      faster = value >= map.break_even;
    }
    svg.Paragraph(!any     ? "Nothing is known here."
                  : faster ? "Faster everywhere: no break-even line."
                           : "Slower everywhere: no break-even line.",
                  "soft");
  } else {
    svg.Paragraph("Thick line: break-even.", "soft");
  }
  return svg.Finish();
}

std::string StackedBarsSvg(const StackedBars& bars) {
  Svg svg(bars.title);
  double longest = 0.0;
  bool has_scales = false;
  for (const StackedBar& bar : bars.bars) {
    longest = std::max(longest, Total(bars, bar));
    has_scales = has_scales || bar.full_seconds > 0.0;
  }
  if (bars.bars.empty() || bars.parts.empty() || longest <= 0.0) {
    svg.Paragraph("No data.");
    return svg.Finish();
  }
  const Unit unit = UnitOf(longest);
  std::vector<bool> used(bars.parts.size(), false);
  for (const StackedBar& bar : bars.bars) {
    const double total = Total(bars, bar);
    // A long label has lines of its own, above the total's.
    const std::string total_text = TimeLabel(total);
    if (Svg::kLetter * (bar.label.size() + total_text.size() + 1) >
        Svg::kWidth) {
      svg.Paragraph(bar.label);
    } else {
      svg.Text(0.0, svg.bottom() + 13.0, bar.label);
    }
    svg.Text(Svg::kWidth, svg.bottom() + 13.0, total_text, "end");
    svg.Advance(18.0);
    const double full =
        bar.full_seconds > 0.0 ? std::max(bar.full_seconds, total) : longest;
    double x = 0.0;
    for (size_t p = 0; p < bars.parts.size(); ++p) {
      const double amount = Amount(bar, p);
      const double width = Svg::kWidth * amount / full;
      if (width <= 0.0) continue;
      used[p] = true;
      svg.Rect(x, svg.bottom(), width, 24.0, absl::StrCat("cell p", p % 8),
               absl::StrCat(bar.label, ", ", bars.parts[p], ": ",
                            TimeLabel(amount)));
      const std::string text =
          has_scales ? TimeLabel(amount)
                     : absl::StrFormat("%.3g", amount / unit.seconds);
      if (width >= Svg::kLetter * text.size() + 4.0) {
        svg.Text(x + width / 2, svg.bottom() + 16.0, text, "middle paper");
      }
      x += width;
    }
    svg.Advance(32.0);
  }
  for (size_t p = 0; p < bars.parts.size(); ++p) {
    if (used[p]) svg.Legend(bars.parts[p], absl::StrCat("p", p % 8));
  }
  svg.EndLegend();
  svg.Paragraph(has_scales ? "Bars have scales of their own."
                           : absl::StrCat("Numbers are in ", unit.name, "."),
                "soft");
  return svg.Finish();
}

}  // namespace octet::roofline
