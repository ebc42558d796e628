// SPDX-License-Identifier: Apache-2.0

// A table of results: aligned text for people, CSV and JSON for programs.
//
// CSV and JSON have every digit and the columns' full names, in one order; a
// value that is absent is an empty field, or null. Text rounds. All are as in
// the C locale.
#ifndef OCTET_TOOLS_ROOFLINE_TABLE_H_
#define OCTET_TOOLS_ROOFLINE_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace octet::tools {

// How text shows a column.
enum class CellStyle : uint8_t {
  kText,          // to the left
  kWhole,         // 8192
  kSeconds,       // as microseconds, three decimals
  kMilliseconds,  // seconds with two decimals
  kRatio,         // 1.258
  kNumber,        // four significant digits
  kCount,         // 15470, rounded
  kPercent,       // 0.5 is 50.0
  kDataOnly,      // not at all
};

struct Column {
  std::string name;  // of CSV and JSON
  CellStyle style = CellStyle::kText;
  std::string title = "";  // of text; empty: the name
};

// Absent, a whole number, a number, text, yes or no (JSON: true or false).
using Cell = std::variant<std::monostate, int64_t, double, std::string, bool>;

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell a column.
  void AddRow(std::vector<Cell> cells);

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }

  // What Text shows, cell by cell.
  std::vector<std::string> TextHeader() const;
  std::vector<std::vector<std::string>> TextRows() const;

  std::string Text() const;
  std::string Csv() const;
  // An array of objects.
  std::string Json() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_TABLE_H_
