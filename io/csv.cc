// SPDX-License-Identifier: Apache-2.0
#include "io/csv.h"

#include <charconv>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace octet::io {
namespace {

absl::Status Broken(absl::string_view name, int64_t line,
                    absl::string_view what) {
  return absl::DataLossError(absl::StrCat(name, ":", line, ": ", what));
}

class Reader {
 public:
  Reader(absl::string_view text, absl::string_view name)
      : text_(text), name_(name) {}

  bool AtEnd() const { return at_ >= text_.size(); }

  absl::StatusOr<CsvRow> Row() {
    CsvRow row{line_, {}};
    do {
      OCTET_ASSIGN_OR_RETURN(std::string field, Field());
      row.fields.push_back(std::move(field));
    } while (Take(','));
    if (!AtEnd() && !TakeLineEnd()) {
      return Broken(name_, line_, "text behind a closing quote");
    }
    return row;
  }

 private:
  bool Take(char c) {
    if (AtEnd() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool TakeLineEnd() {
    absl::string_view rest = text_.substr(at_);
    if (!absl::ConsumePrefix(&rest, "\r\n") &&
        !absl::ConsumePrefix(&rest, "\n")) {
      return false;
    }
    at_ = text_.size() - rest.size();
    ++line_;
    return true;
  }

  absl::StatusOr<std::string> Field() {
    if (Take('"')) return QuotedField();
    const size_t begin = at_;
    while (!AtEnd() && text_[at_] != ',' && text_[at_] != '\n') {
      if (text_[at_] == '"') {
        return Broken(name_, line_, "a quote inside a field");
      }
      ++at_;
    }
    absl::string_view field = text_.substr(begin, at_ - begin);
    if (!AtEnd() && text_[at_] == '\n' && absl::ConsumeSuffix(&field, "\r")) {
      --at_;
    }
    return std::string(field);
  }

  absl::StatusOr<std::string> QuotedField() {
    const int64_t begin = line_;
    std::string field;
    while (!AtEnd()) {
      const char c = text_[at_++];
      if (c == '\n') ++line_;
      if (c == '"' && !Take('"')) return field;
      field += c;
    }
    return Broken(name_, begin, "a quote that does not close");
  }

  absl::string_view text_;
  absl::string_view name_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

int CsvTable::Find(absl::string_view column) const {
  for (size_t i = 0; i < header.size(); ++i) {
    if (header[i] == column) return static_cast<int>(i);
  }
  return -1;
}

absl::StatusOr<CsvTable> ParseCsv(absl::string_view text,
                                  absl::string_view name) {
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");
  CsvTable table;
  Reader reader(text, name);
  while (!reader.AtEnd()) {
    OCTET_ASSIGN_OR_RETURN(CsvRow row, reader.Row());
    if (row.fields.size() == 1 && row.fields[0].empty()) continue;
    if (!table.header.empty()) {
      if (row.fields.size() != table.header.size()) {
        return Broken(
            name, row.line,
            absl::StrCat(row.fields.size(), " fields, the header has ",
                         table.header.size()));
      }
      table.rows.push_back(std::move(row));
      continue;
    }
    std::set<absl::string_view> seen;
    for (const std::string& column : row.fields) {
      if (!seen.insert(column).second) {
        return Broken(name, row.line,
                      absl::StrCat("column \"", column, "\" is there twice"));
      }
    }
    table.header = std::move(row.fields);
  }
  if (table.header.empty()) return Broken(name, 1, "no header");
  return table;
}

std::string CsvLine(absl::Span<const std::string> fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != &fields[0]) line += ',';
    if (field.find_first_of(",\"\r\n") == std::string::npos) {
      line += field;
    } else {
      absl::StrAppend(&line, "\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}),
                      "\"");
    }
  }
  return line + "\n";
}

std::string CsvNumber(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end.ptr);
}

}  // namespace octet::io
