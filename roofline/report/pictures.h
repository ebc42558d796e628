// SPDX-License-Identifier: Apache-2.0

// The three pictures of a roofline report; see svg.h for what they share.
//
// Any data can be drawn: none, one point, values that are not finite ("n/a"),
// names with any character.
#ifndef OCTET_ROOFLINE_REPORT_PICTURES_H_
#define OCTET_ROOFLINE_REPORT_PICTURES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace octet::roofline {

// Speed-ups over two dimensions, with a line where they cross break-even.
struct HeatMap {
  std::string title;
  std::string x_name, y_name;
  std::vector<std::string> x, y;
  // [y][x]; y[0] is the lowest row. NaN, and what is missing, is not known.
  std::vector<double> values;
  double break_even = 1.0;
};

// Times by part, one bar a row. Parts that take no time have no legend.
struct StackedBar {
  std::string label;
  std::vector<double> seconds;  // of each part
  // What fills the width; 0: the longest bar of all.
  double full_seconds = 0;
};
struct StackedBars {
  std::string title;
  std::vector<std::string> parts;
  std::vector<StackedBar> bars;
};

// What a memory and its arithmetic units allow, and what was reached.
struct RooflineCeiling {
  std::string name;
  double flops_per_second = 0.0;
};
struct RooflinePoint {
  std::string series;  // a colour each, in the order of their first points
  std::string label;
  double flops_per_byte = 0.0;
  double flops_per_second = 0.0;
  bool is_predicted = false;  // drawn hollow
};
struct RooflinePlot {
  std::string title;
  double bytes_per_second = 0.0;
  std::vector<RooflineCeiling> ceilings;
  std::vector<RooflinePoint> points;
};

// 16384 as "16K", 12000 as "12000".
std::string SizeLabel(int64_t size);
// Three digits and a unit: "1.23 ms"; "n/a" for what is not finite.
std::string TimeLabel(double seconds);

std::string HeatMapSvg(const HeatMap& map);
std::string StackedBarsSvg(const StackedBars& bars);
std::string RooflinePlotSvg(const RooflinePlot& plot);

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_REPORT_PICTURES_H_
