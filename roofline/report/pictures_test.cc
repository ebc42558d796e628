// SPDX-License-Identifier: Apache-2.0

#include "roofline/report/pictures.h"

#include <clocale>
#include <cmath>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "roofline/report/svg.h"

namespace octet::roofline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

int Count(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

TEST(EscapeXmlTest, MarkupBecomesText) {
  EXPECT_EQ(EscapeXml("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&#39;");
}

TEST(EscapeXmlTest, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(EscapeXml("\xC3\xA9 \xE2\x86\x92 \xF0\x9F\x98\x80"),
            "\xC3\xA9 \xE2\x86\x92 \xF0\x9F\x98\x80");
  EXPECT_EQ(EscapeXml("a\x01 b\xFF c\xC3"), "a? b? c?");
  EXPECT_EQ(EscapeXml("\xED\xA0\x80 \xC0\x80 \xEF\xBF\xBF"), "??? ?? ???");
}

TEST(CoordinateTest, TwoDigitsAtMost) {
  EXPECT_EQ(Coordinate(3.0), "3");
  EXPECT_EQ(Coordinate(3.5), "3.5");
  EXPECT_EQ(Coordinate(-0.126), "-0.13");
  EXPECT_EQ(Coordinate(10.054), "10.05");
  EXPECT_EQ(Coordinate(kNan), "0");
  EXPECT_EQ(Coordinate(kInfinity), "0");
}

TEST(LabelTest, SizesAndTimes) {
  EXPECT_EQ(SizeLabel(512), "512");
  EXPECT_EQ(SizeLabel(16384), "16K");
  EXPECT_EQ(SizeLabel(12000), "12000");
  EXPECT_EQ(SizeLabel(int64_t{3} << 20), "3M");
  EXPECT_EQ(TimeLabel(0.0), "0");
  EXPECT_EQ(TimeLabel(1.234e-3), "1.23 ms");
  EXPECT_EQ(TimeLabel(56.78e-6), "56.8 us");
  EXPECT_EQ(TimeLabel(345.0), "345 s");
  EXPECT_EQ(TimeLabel(kNan), "n/a");
}

HeatMap Map() {
  HeatMap map;
  map.title = "Speed-up";
  map.x_name = "N";
  map.y_name = "M";
  map.x = {"1K", "2K"};
  map.y = {"16", "256"};
  map.values = {0.71, 0.93, 0.97, 1.52};
  return map;
}

TEST(HeatMapTest, ShowsEachValueOnce) {
  const std::string svg = HeatMapSvg(Map());
  for (const char* value : {">0.71<", ">0.93<", ">0.97<", ">1.52<"}) {
    EXPECT_EQ(Count(svg, value), 1) << value;
  }
  EXPECT_EQ(Count(svg, "class=\"cell h1\""), 1);  // 0.71
  EXPECT_EQ(Count(svg, "class=\"cell h2\""), 1);  // 0.93
  EXPECT_EQ(Count(svg, "class=\"cell h3\""), 1);  // 0.97
  EXPECT_EQ(Count(svg, "class=\"cell h7\""), 1);  // 1.52
}

TEST(HeatMapTest, BreakEvenIsTheBorderOfTheFasterCells) {
  // The one fast cell, top right, has a border at its left and one below.
  const std::string svg = HeatMapSvg(Map());
  const size_t at = svg.find("class=\"even\"");
  ASSERT_NE(at, std::string::npos);
  const size_t start = svg.rfind("d=\"", at) + 3;
  const std::string path = svg.substr(start, at - start);
  EXPECT_EQ(Count(path, "M"), 2) << path;
  EXPECT_EQ(Count(path, "v"), 1) << path;
  EXPECT_EQ(Count(path, "h"), 1) << path;
  EXPECT_THAT(svg, HasSubstr("Thick line: break-even."));
}

TEST(HeatMapTest, SaysWhenThereIsNoBreakEven) {
  HeatMap map = Map();
  map.values = {1.1, 1.2, 1.3, 1.4};
  EXPECT_THAT(HeatMapSvg(map), HasSubstr("Faster everywhere"));
  map.values = {0.1, 0.2, 0.3, 0.4};
  EXPECT_THAT(HeatMapSvg(map), HasSubstr("Slower everywhere"));
  map.values = {kNan, kInfinity};
  EXPECT_THAT(HeatMapSvg(map),
              AllOf(HasSubstr("Nothing is known"), HasSubstr("cell na")));
}

TEST(HeatMapTest, NoDataAndOneCell) {
  EXPECT_THAT(HeatMapSvg({}), HasSubstr("No data."));
  HeatMap one = Map();
  one.x = {"1K"};
  one.y = {"16"};
  one.values = {1.0};
  EXPECT_THAT(HeatMapSvg(one),
              AllOf(HasSubstr(">1.00<"), HasSubstr("Faster everywhere")));
}

TEST(HeatMapTest, ManyColumnsDropTheTextButNotTheTips) {
  HeatMap map = Map();
  map.y = {"16"};
  map.x.clear();
  map.values.clear();
  for (int i = 0; i < 30; ++i) {
    map.x.push_back(std::to_string(10000 + i));
    map.values.push_back(1.25);
  }
  const std::string svg = HeatMapSvg(map);
  EXPECT_EQ(Count(svg, "1.250</title>"), 30);
  EXPECT_EQ(Count(svg, ">1.25<"), 0);
  EXPECT_THAT(svg, AllOf(HasSubstr(">10000<"), Not(HasSubstr(">10001<"))));
}

TEST(StackedBarsTest, WidthsAreSharesOfTheLongest) {
  StackedBars bars;
  bars.title = "Time";
  bars.parts = {"gemm", "cast"};
  bars.bars = {{"bf16", {4e-3, 0.0}, 0.0}, {"fp8", {2e-3, 1e-3}, 0.0}};
  const std::string svg = StackedBarsSvg(bars);
  EXPECT_EQ(Count(svg, "width=\"324\" height=\"24\""), 1);
  EXPECT_EQ(Count(svg, "width=\"162\" height=\"24\""), 1);
  EXPECT_EQ(Count(svg, "width=\"81\" height=\"24\""), 1);
  EXPECT_THAT(svg, AllOf(HasSubstr(">4.00 ms<"), HasSubstr(">3.00 ms<"),
                         HasSubstr("Numbers are in ms.")));
}

TEST(StackedBarsTest, BarsMayHaveScalesOfTheirOwn) {
  StackedBars bars;
  bars.parts = {"gemm", "cast", "none"};
  bars.bars = {{"small", {2e-6, 0.0}, 4e-6}, {"large", {1.0, 1.0}, 1.0}};
  const std::string svg = StackedBarsSvg(bars);
  // Half; and a bar is never wider than the picture.
  EXPECT_EQ(Count(svg, "width=\"162\" height=\"24\""), 3);
  EXPECT_THAT(svg, AllOf(HasSubstr(">2.00 us<"), HasSubstr(">1.00 s<"),
                         HasSubstr("scales of their own")));
  EXPECT_THAT(svg, Not(HasSubstr(">none<")));
}

TEST(StackedBarsTest, LongLabelsDoNotMeetTheTotal) {
  StackedBars bars;
  bars.parts = {"gemm"};
  bars.bars = {{"short", {1.0}, 0.0}};
  const std::string one = StackedBarsSvg(bars);
  bars.bars[0].label = "a label that is longer than what fits beside 1.00 s";
  const std::string two = StackedBarsSvg(bars);
  const auto y = [](const std::string& svg, const std::string& text) {
    const size_t at = svg.rfind("y=\"", svg.find(text)) + 3;
    return std::stod(svg.substr(at));
  };
  EXPECT_EQ(y(one, ">short<"), y(one, ">1.00 s<"));
  EXPECT_GT(y(two, ">1.00 s<"), y(two, ">a label that"));
}

TEST(StackedBarsTest, NothingToShow) {
  EXPECT_THAT(StackedBarsSvg({}), HasSubstr("No data."));
  StackedBars bars;
  bars.parts = {"gemm"};
  bars.bars = {
      {"none", {}, 0.0}, {"bad", {kNan}, 0.0}, {"negative", {-1.0}, 0.0}};
  EXPECT_THAT(StackedBarsSvg(bars), HasSubstr("No data."));
}

TEST(RooflinePlotTest, PointsAndCeilings) {
  RooflinePlot plot;
  plot.title = "Roofline";
  plot.bytes_per_second = 4.8e12;
  plot.ceilings = {{"bf16", 989e12}, {"fp8", 1979e12}};
  plot.points = {{"run", "a", 500.0, 7e14, false},
                 {"model", "a", 500.0, 8e14, true},
                 {"run", "bad", 0.0, 1e12, false},
                 {"run", "worse", 10.0, kNan, false}};
  const std::string svg = RooflinePlotSvg(plot);
  EXPECT_EQ(Count(svg, "<circle"), 2);
  EXPECT_EQ(Count(svg, "class=\"p0\"><title>run, a"), 1);
  EXPECT_EQ(Count(svg, "class=\"hollow p1\"><title>model, a"), 1);
  EXPECT_EQ(Count(svg, "class=\"roof\""), 2);
  EXPECT_THAT(svg, AllOf(HasSubstr(">bf16 989<"), HasSubstr(">fp8 1979<")));
}

TEST(RooflinePlotTest, OnePointOrNothing) {
  EXPECT_THAT(RooflinePlotSvg({}), HasSubstr("No data."));
  RooflinePlot plot;
  plot.points = {{"run", "one", 1.0, 1e12, false}};
  EXPECT_EQ(Count(RooflinePlotSvg(plot), "<circle"), 1);
  plot.points.clear();
  plot.bytes_per_second = 1e12;
  plot.ceilings = {{"bf16", 1e14}};
  EXPECT_THAT(RooflinePlotSvg(plot), HasSubstr("No points."));
}

TEST(ReportSvgTest, NumbersDoNotDependOnTheLocale) {
  const std::string before = HeatMapSvg(Map());
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  }
  const std::string after = HeatMapSvg(Map());
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(before, after);
}

TEST(ReportSvgTest, TextIsNeverSmall) {
  // 324 units on a phone's 325 pixels: the font size is in pixels.
  const std::string svg = HeatMapSvg(Map());
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 324 "));
  EXPECT_THAT(svg, HasSubstr("font:12px"));
  EXPECT_EQ(Count(svg, "font-size"), 1);  // the title's 14 px
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
}

}  // namespace
}  // namespace octet::roofline
