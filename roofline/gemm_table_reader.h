// SPDX-License-Identifier: Apache-2.0

// Rows of a GemmTable from comma-separated values; see gemm_time.h.
#ifndef OCTET_ROOFLINE_GEMM_TABLE_READER_H_
#define OCTET_ROOFLINE_GEMM_TABLE_READER_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/csv.h"
#include "roofline/gemm_time.h"

namespace octet::roofline {

class GemmTableReader {
 public:
  GemmTableReader(const io::CsvTable& csv, GemmTable* table)
      : csv_(csv), table_(table) {}

  absl::Status Read();

 private:
  absl::Status ReadSweep();
  absl::Status ReadSweepRow(const io::CsvRow& row);
  absl::Status ReadTorchao();
  absl::Status ReadTorchaoRow(const io::CsvRow& row);
  // The one device whose rows count.
  absl::StatusOr<std::string> ChooseDevice() const;

  const std::string& Field(const io::CsvRow& row,
                           absl::string_view column) const;
  absl::Status Wrong(const io::CsvRow& row, absl::string_view column,
                     absl::string_view what) const;
  absl::StatusOr<std::array<int64_t, 3>> SizesOf(
      const io::CsvRow& row,
      const std::array<absl::string_view, 3>& columns) const;
  absl::StatusOr<double> SecondsOf(const io::CsvRow& row,
                                   absl::string_view column) const;

  const io::CsvTable& csv_;
  GemmTable* table_;
};

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_GEMM_TABLE_READER_H_
