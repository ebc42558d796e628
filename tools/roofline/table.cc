// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "io/csv.h"
#include "io/json.h"

namespace octet::tools {
namespace {

std::string NumberText(double value, CellStyle style) {
  switch (style) {
    case CellStyle::kSeconds:
      return absl::StrFormat("%.3f", value * 1e6);
    case CellStyle::kMilliseconds:
      return absl::StrFormat("%.2f", value * 1e3);
    case CellStyle::kRatio:
      return absl::StrFormat("%.3f", value);
    case CellStyle::kCount:
      return absl::StrFormat("%.0f", value);
    case CellStyle::kPercent:
      return absl::StrFormat("%.1f", value * 100.0);
    default:
      return absl::StrFormat("%.4g", value);
  }
}

std::string CellText(const Cell& cell, CellStyle style) {
  if (const auto* whole = std::get_if<int64_t>(&cell)) {
    return absl::StrCat(*whole);
  }
  if (const auto* number = std::get_if<double>(&cell)) {
    return NumberText(*number, style);
  }
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* is = std::get_if<bool>(&cell)) return *is ? "yes" : "no";
  return "-";
}

std::string CellData(const Cell& cell) {
  if (const auto* whole = std::get_if<int64_t>(&cell)) {
    return absl::StrCat(*whole);
  }
  if (const auto* number = std::get_if<double>(&cell)) {
    return io::CsvNumber(*number);
  }
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* is = std::get_if<bool>(&cell)) return *is ? "yes" : "no";
  return "";
}

io::Json CellJson(const Cell& cell) {
  if (const auto* whole = std::get_if<int64_t>(&cell)) return *whole;
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* is = std::get_if<bool>(&cell)) return *is;
  return nullptr;
}

void AppendLine(const std::vector<std::string>& cells,
                const std::vector<size_t>& widths,
                const std::vector<CellStyle>& styles, std::string* text) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += "  ";
    const int width = static_cast<int>(widths[i]);
    absl::StrAppendFormat(
        &line, "%*s", styles[i] == CellStyle::kText ? -width : width, cells[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  absl::StrAppend(text, line, "\n");
}

}  // namespace

void Table::AddRow(std::vector<Cell> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::string> Table::TextHeader() const {
  std::vector<std::string> header;
  for (const Column& column : columns_) {
    if (column.style == CellStyle::kDataOnly) continue;
    header.push_back(column.title.empty() ? column.name : column.title);
  }
  return header;
}

std::vector<std::vector<std::string>> Table::TextRows() const {
  std::vector<std::vector<std::string>> lines;
  for (const std::vector<Cell>& row : rows_) {
    std::vector<std::string>& line = lines.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      if (columns_[i].style == CellStyle::kDataOnly) continue;
      line.push_back(CellText(row[i], columns_[i].style));
    }
  }
  return lines;
}

std::string Table::Text() const {
  std::vector<std::vector<std::string>> lines = TextRows();
  lines.insert(lines.begin(), TextHeader());
  std::vector<CellStyle> styles;
  for (const Column& column : columns_) {
    if (column.style != CellStyle::kDataOnly) styles.push_back(column.style);
  }
  std::vector<size_t> widths(styles.size(), 0);
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (const auto& line : lines) AppendLine(line, widths, styles, &text);
  return text;
}

std::string Table::Csv() const {
  std::vector<std::string> fields;
  for (const Column& column : columns_) fields.push_back(column.name);
  std::string text = io::CsvLine(fields);
  for (const std::vector<Cell>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) fields[i] = CellData(row[i]);
    text += io::CsvLine(fields);
  }
  return text;
}

std::string Table::Json() const {
  io::Json rows = io::Json::array();
  for (const std::vector<Cell>& row : rows_) {
    io::Json object = io::Json::object();
    for (size_t i = 0; i < row.size(); ++i) {
      object[columns_[i].name] = CellJson(row[i]);
    }
    rows.push_back(std::move(object));
  }
  return io::DumpPrettyJson(rows);
}

}  // namespace octet::tools
