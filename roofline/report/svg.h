// SPDX-License-Identifier: Apache-2.0

// A drawing that grows downwards, as the text of one SVG element.
//
// 324 units wide and every letter 12 units or more, so that it can be read on
// a phone of 360 pixels, margins and a scroll bar taken off; readable in light
// and dark (prefers-color-scheme).
// The text stands alone as a file and inside an HTML page alike: well-formed
// XML, no reference to anything else. Numbers are those of the C locale.
#ifndef OCTET_ROOFLINE_REPORT_SVG_H_
#define OCTET_ROOFLINE_REPORT_SVG_H_

#include <string>

#include "absl/strings/string_view.h"

namespace octet::roofline {

// For text and attributes; bytes that XML 1.0 cannot hold become '?'.
std::string EscapeXml(absl::string_view text);

// At most two digits after the point; "0" for what is no finite number.
std::string Coordinate(double value);

class Svg {
 public:
  static constexpr double kWidth = 324.0;
  static constexpr double kFontSize = 12.0;
  // A generous width of a letter.
  static constexpr double kLetter = 7.2;

  // Writes the title, in lines that fit, at the top.
  explicit Svg(absl::string_view title);

  // Where the next thing goes: below all that advanced so far.
  double bottom() const { return bottom_; }
  void Advance(double height) { bottom_ += height; }

  // `classes` are of the style sheet in svg.cc. A tip shows under the pointer.
  void Rect(double x, double y, double width, double height,
            absl::string_view classes, absl::string_view tip = "");
  void Circle(double x, double y, double radius, absl::string_view classes,
              absl::string_view tip = "");
  void Path(absl::string_view commands, absl::string_view classes);
  // `y` is the base line. Classes: "start" (default), "middle" or "end".
  void Text(double x, double y, absl::string_view text,
            absl::string_view classes = "start");
  // Lines of what fits the width; advances.
  void Paragraph(absl::string_view text, absl::string_view classes = "start");
  // A coloured square and a name, many to a line; EndLegend ends the last one.
  void Legend(absl::string_view name, absl::string_view classes);
  void EndLegend();

  std::string Finish() const;

 private:
  std::string title_;
  std::string body_;
  double bottom_ = 0.0;
  double legend_x_ = 0.0;
};

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_REPORT_SVG_H_
