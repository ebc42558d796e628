// SPDX-License-Identifier: Apache-2.0

#include "roofline/report/svg.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace octet::roofline {
namespace {

constexpr double kLine = 16.0;
constexpr double kSwatch = 10.0;

// Slower than break-even is orange and faster is blue, the further the
// stronger (h0 to h8); parts of a whole are p0 to p7.
constexpr char kStyle[] = R"(<style>
.octet{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:#1f2328;background:#fff}
.octet .title{font-size:14px;font-weight:600}
.octet .middle{text-anchor:middle}.octet .end{text-anchor:end}
.octet .soft{fill:#57606a}
.octet .axis{stroke:#8c959f;fill:none}.octet .grid{stroke:#d8dee4;fill:none}
.octet .even{stroke:#1f2328;fill:none;stroke-width:3;stroke-linecap:square}
.octet .roof{stroke:#1f2328;fill:none;stroke-width:2}
.octet .cell{stroke:#fff}
.octet .na{fill:#eaeef2}
.octet .h0{fill:#c4570a}.octet .h1{fill:#e48a45}.octet .h2{fill:#f3b98a}.octet .h3{fill:#fbe3cf}
.octet .h4{fill:#dcebfa}.octet .h5{fill:#b3d4f5}.octet .h6{fill:#7db3ea}.octet .h7{fill:#3f7fc4}.octet .h8{fill:#1f5796}
.octet .ink{fill:#1f2328}.octet .paper{fill:#fff}
.octet .p0{fill:#2f66ad}.octet .p1{fill:#b85c00}.octet .p2{fill:#2f7d43}.octet .p3{fill:#a23b72}
.octet .p4{fill:#6a55b8}.octet .p5{fill:#1b7f86}.octet .p6{fill:#85601a}.octet .p7{fill:#66707a}
.octet .hollow{fill-opacity:.15;stroke-width:2}
.octet .hollow.p0{stroke:#2f66ad}.octet .hollow.p1{stroke:#b85c00}.octet .hollow.p2{stroke:#2f7d43}.octet .hollow.p3{stroke:#a23b72}
.octet .hollow.p4{stroke:#6a55b8}.octet .hollow.p5{stroke:#1b7f86}.octet .hollow.p6{stroke:#85601a}.octet .hollow.p7{stroke:#66707a}
@media (prefers-color-scheme:dark){
.octet{fill:#e6edf3;background:#0d1117}
.octet .soft{fill:#9da7b1}
.octet .axis{stroke:#768390}.octet .grid{stroke:#2d333b}
.octet .even,.octet .roof{stroke:#e6edf3}
.octet .cell{stroke:#0d1117}
.octet .na{fill:#21262d}
.octet .h0{fill:#f0883e}.octet .h1{fill:#c4651b}.octet .h2{fill:#8a4512}.octet .h3{fill:#4d2a12}
.octet .h4{fill:#12304d}.octet .h5{fill:#164a7d}.octet .h6{fill:#1f6ab0}.octet .h7{fill:#4f97dd}.octet .h8{fill:#9ccbff}
.octet .ink{fill:#e6edf3}.octet .paper{fill:#0d1117}
.octet .p0{fill:#6ea8ee}.octet .p1{fill:#f0a050}.octet .p2{fill:#6cc283}.octet .p3{fill:#e58bb6}
.octet .p4{fill:#ab9df2}.octet .p5{fill:#5cc6cd}.octet .p6{fill:#d1ad62}.octet .p7{fill:#a3adb8}
.octet .hollow.p0{stroke:#6ea8ee}.octet .hollow.p1{stroke:#f0a050}.octet .hollow.p2{stroke:#6cc283}.octet .hollow.p3{stroke:#e58bb6}
.octet .hollow.p4{stroke:#ab9df2}.octet .hollow.p5{stroke:#5cc6cd}.octet .hollow.p6{stroke:#d1ad62}.octet .hollow.p7{stroke:#a3adb8}
}
</style>)";

// Words in lines of at most `letters` bytes; a longer word has its own.
std::vector<std::string> Wrap(absl::string_view text, size_t letters) {
  std::vector<std::string> lines;
  for (const absl::string_view word :
       absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!lines.empty() && lines.back().size() + 1 + word.size() <= letters) {
      absl::StrAppend(&lines.back(), " ", word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

// A shape's end: alone, or with the text that shows under the pointer.
std::string End(absl::string_view element, absl::string_view tip) {
  if (tip.empty()) return "/>\n";
  return absl::StrCat("><title>", EscapeXml(tip), "</title></", element, ">\n");
}

// Of the UTF-8 letter of two to four bytes at the start; 0: none that XML may
// hold.
size_t SequenceLength(absl::string_view text) {
  const auto byte = [&](size_t i) -> uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const uint32_t first = byte(0);
  const size_t length = first >= 0xf0   ? 4
                        : first >= 0xe0 ? 3
                        : first >= 0xc2 ? 2
                                        : 0;
  if (length == 0 || first > 0xf4) return 0;
  uint32_t code = first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  const bool is_control = code < 0xa0 || code == 0xfffe || code == 0xffff;
  return code < least || code > 0x10ffff || is_surrogate || is_control ? 0
                                                                       : length;
}

}  // namespace

std::string EscapeXml(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const unsigned char byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      const size_t length = SequenceLength(text.substr(i));
      if (length == 0) {
        out += '?';
      } else {
        absl::StrAppend(&out, text.substr(i, length));
        i += length - 1;
      }
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      out += '?';
    } else {
      out += c;
    }
  }
  return out;
}

std::string Coordinate(double value) {
  if (!std::isfinite(value)) return "0";
  const int64_t hundredths = std::llround(value * 100.0);
  const int64_t size = std::llabs(hundredths);
  std::string out = absl::StrCat(hundredths < 0 ? "-" : "", size / 100);
  if (size % 100 != 0) {
    absl::StrAppend(&out, ".", size / 10 % 10);
    if (size % 10 != 0) absl::StrAppend(&out, size % 10);
  }
  return out;
}

Svg::Svg(absl::string_view title) : title_(title) {
  for (const std::string& line : Wrap(title, 38)) {
    bottom_ += 18.0;
    Text(0.0, bottom_ - 4.0, line, "title");
  }
  bottom_ += 6.0;
}

void Svg::Rect(double x, double y, double width, double height,
               absl::string_view classes, absl::string_view tip) {
  absl::StrAppend(&body_, "<rect x=\"", Coordinate(x), "\" y=\"", Coordinate(y),
                  "\" width=\"", Coordinate(width), "\" height=\"",
                  Coordinate(height), "\" class=\"", classes, "\"",
                  End("rect", tip));
}

void Svg::Circle(double x, double y, double radius, absl::string_view classes,
                 absl::string_view tip) {
  absl::StrAppend(&body_, "<circle cx=\"", Coordinate(x), "\" cy=\"",
                  Coordinate(y), "\" r=\"", Coordinate(radius), "\" class=\"",
                  classes, "\"", End("circle", tip));
}

void Svg::Path(absl::string_view commands, absl::string_view classes) {
  absl::StrAppend(&body_, "<path d=\"", commands, "\" class=\"", classes,
                  "\"/>\n");
}

void Svg::Text(double x, double y, absl::string_view text,
               absl::string_view classes) {
  absl::StrAppend(&body_, "<text x=\"", Coordinate(x), "\" y=\"", Coordinate(y),
                  "\" class=\"", classes, "\">", EscapeXml(text), "</text>\n");
}

void Svg::Paragraph(absl::string_view text, absl::string_view classes) {
  for (const std::string& line :
       Wrap(text, static_cast<size_t>(kWidth / kLetter) + 4)) {
    bottom_ += kLine;
    Text(0.0, bottom_ - 4.0, line, classes);
  }
}

void Svg::Legend(absl::string_view name, absl::string_view classes) {
  const double width =
      kSwatch + 6.0 + kLetter * static_cast<double>(name.size()) + 16.0;
  if (legend_x_ > 0.0 && legend_x_ + width > kWidth + 16.0) EndLegend();
  Rect(legend_x_, bottom_ + 3.0, kSwatch, kSwatch, classes);
  Text(legend_x_ + kSwatch + 6.0, bottom_ + 12.0, name);
  legend_x_ += width;
}

void Svg::EndLegend() {
  if (legend_x_ > 0.0) bottom_ += kLine + 2.0;
  legend_x_ = 0.0;
}

std::string Svg::Finish() const {
  const std::string height = Coordinate(bottom_ + 4.0);
  return absl::StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"octet\" role=\"img\" "
      "width=\"",
      Coordinate(kWidth), "\" height=\"", height, "\" viewBox=\"0 0 ",
      Coordinate(kWidth), " ", height, "\" aria-label=\"", EscapeXml(title_),
      "\">\n", kStyle, "\n<title>", EscapeXml(title_), "</title>\n", body_,
      "</svg>\n");
}

}  // namespace octet::roofline
