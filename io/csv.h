// SPDX-License-Identifier: Apache-2.0

// Comma-separated values (RFC 4180): a header, then rows of as many fields.
//
// Reading takes LF and CRLF, a byte order mark, quoted fields that hold commas,
// quotes ("") and line ends; empty lines are skipped. Numbers are read and
// written as in the C locale whatever the environment's.
#ifndef OCTET_IO_CSV_H_
#define OCTET_IO_CSV_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace octet::io {

struct CsvRow {
  int64_t line = 0;  // of its first character, from 1
  std::vector<std::string> fields;
};

struct CsvTable {
  std::vector<std::string> header;
  std::vector<CsvRow> rows;

  // Index of a column, or -1.
  int Find(absl::string_view column) const;
};

// DataLoss as "name:line: what": a row of another length than the header's, a
// quote that does not close or stands inside a field, a column twice, no
// header.
absl::StatusOr<CsvTable> ParseCsv(absl::string_view text,
                                  absl::string_view name);

// One line with its end; fields are quoted where they must be.
std::string CsvLine(absl::Span<const std::string> fields);

// The shortest text that reads back as the same double.
std::string CsvNumber(double value);

}  // namespace octet::io

#endif  // OCTET_IO_CSV_H_
