// SPDX-License-Identifier: Apache-2.0
#include "roofline/gemm_table_reader.h"

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace octet::roofline {
namespace {

// bench_matmul.py's; of the other columns it has, none is needed. Older ones
// called float8's time fp8_time_s.
const std::vector<std::string>& TorchaoColumns() {
  static const auto& columns = *new std::vector<std::string>{
      "fast_accum", "M", "K", "N", "ref_time_s", "time_s"};
  return columns;
}

std::vector<std::string> Missing(const io::CsvTable& csv,
                                 const std::vector<std::string>& columns,
                                 absl::string_view optional) {
  std::vector<std::string> missing;
  for (const std::string& column : columns) {
    if (column != optional && csv.Find(column) < 0) missing.push_back(column);
  }
  return missing;
}

}  // namespace

const std::string& GemmTableReader::Field(const io::CsvRow& row,
                                          absl::string_view column) const {
  return row.fields[csv_.Find(column)];
}

absl::Status GemmTableReader::Wrong(const io::CsvRow& row,
                                    absl::string_view column,
                                    absl::string_view what) const {
  return absl::DataLossError(absl::StrCat(table_->file_, ":", row.line, ": ",
                                          column, " is \"", Field(row, column),
                                          "\", ", what));
}

absl::StatusOr<std::array<int64_t, 3>> GemmTableReader::SizesOf(
    const io::CsvRow& row,
    const std::array<absl::string_view, 3>& columns) const {
  std::array<int64_t, 3> sizes;
  for (int i = 0; i < 3; ++i) {
    if (!absl::SimpleAtoi(Field(row, columns[i]), &sizes[i]) || sizes[i] <= 0) {
      return Wrong(row, columns[i], "no positive whole number");
    }
  }
  return sizes;
}

absl::StatusOr<double> GemmTableReader::SecondsOf(
    const io::CsvRow& row, absl::string_view column) const {
  double seconds = 0.0;
  if (!absl::SimpleAtod(Field(row, column), &seconds) || !(seconds > 0.0) ||
      !std::isfinite(seconds)) {
    return Wrong(row, column, "no positive number of seconds");
  }
  return seconds;
}

absl::Status GemmTableReader::Read() {
  const std::vector<std::string> missing =
      Missing(csv_, GemmTableColumns(), "tflops");
  if (missing.empty()) return ReadSweep();
  const std::vector<std::string> torchao =
      Missing(csv_, TorchaoColumns(), "time_s");
  if (torchao.empty() &&
      (csv_.Find("time_s") >= 0 || csv_.Find("fp8_time_s") >= 0)) {
    return ReadTorchao();
  }
  return absl::DataLossError(absl::StrCat(
      table_->file_, ":1: has the columns ", absl::StrJoin(csv_.header, ","),
      "; a table of gemm_sweep has ", absl::StrJoin(GemmTableColumns(), ","),
      ", one of torchao's bench_matmul.py ",
      absl::StrJoin(TorchaoColumns(), ",")));
}

absl::StatusOr<std::string> GemmTableReader::ChooseDevice() const {
  std::set<std::string> devices;
  for (const io::CsvRow& row : csv_.rows) devices.insert(Field(row, "device"));
  const std::string& wanted = table_->options_.device;
  if (wanted.empty() && devices.size() <= 1) {
    return devices.empty() ? "" : *devices.begin();
  }
  if (devices.count(wanted) > 0) return wanted;
  return absl::InvalidArgumentError(
      absl::StrCat(table_->file_, ": ",
                   wanted.empty() ? "times of several devices"
                                  : absl::StrCat("no times of ", wanted),
                   "; it has those of ", absl::StrJoin(devices, "; ")));
}

absl::Status GemmTableReader::ReadSweep() {
  OCTET_ASSIGN_OR_RETURN(const std::string device, ChooseDevice());
  table_->device_ = device;
  for (const io::CsvRow& row : csv_.rows) {
    if (Field(row, "device") != device) continue;
    OCTET_RETURN_IF_ERROR(ReadSweepRow(row));
  }
  return absl::OkStatus();
}

absl::Status GemmTableReader::ReadSweepRow(const io::CsvRow& row) {
  OCTET_ASSIGN_OR_RETURN(const auto sizes, SizesOf(row, {"m", "k", "n"}));
  const GemmMode* mode = nullptr;
  for (const GemmMode& known : GemmModes()) {
    if (known.dtype == Field(row, "dtype") &&
        known.scale_mode == Field(row, "scale_mode") &&
        known.accumulation == Field(row, "accumulation")) {
      mode = &known;
    }
  }
  if (mode == nullptr) {
    return Wrong(row, "dtype",
                 absl::StrCat("with scale_mode ", Field(row, "scale_mode"),
                              " and accumulation ", Field(row, "accumulation"),
                              " no known mode"));
  }
  GemmTable::Entry entry;
  entry.line = row.line;
  entry.reason = Field(row, "reason");
  const bool is_heuristic =
      table_->options_.candidate == GemmCandidate::kHeuristic;
  if (is_heuristic && entry.reason.empty() &&
      Field(row, "heuristic_seconds").empty()) {
    entry.reason =
        "heuristic_seconds is empty, as there is no first guess: take the best "
        "(--gemm_candidate=best)";
  }
  if (entry.reason.empty()) {
    OCTET_ASSIGN_OR_RETURN(
        entry.seconds,
        SecondsOf(row, is_heuristic ? "heuristic_seconds" : "seconds"));
  }
  return table_->Add(mode->name, sizes, std::move(entry),
                     /*keep_faster=*/false);
}

absl::Status GemmTableReader::ReadTorchao() {
  table_->is_torchao_ = true;
  if (table_->options_.candidate == GemmCandidate::kHeuristic ||
      !table_->options_.device.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        table_->file_,
        ": torchao's table knows neither devices nor a first guess"));
  }
  const std::string& scale_mode = table_->options_.torchao_scale_mode;
  if (scale_mode != "tensor" && scale_mode != "row") {
    return absl::InvalidArgumentError(absl::StrCat(
        table_->file_, ": torchao's float8 times are of scale mode tensor or ",
        "row, not ", scale_mode));
  }
  for (const io::CsvRow& row : csv_.rows) {
    OCTET_RETURN_IF_ERROR(ReadTorchaoRow(row));
  }
  return absl::OkStatus();
}

absl::Status GemmTableReader::ReadTorchaoRow(const io::CsvRow& row) {
  OCTET_ASSIGN_OR_RETURN(const auto sizes, SizesOf(row, {"M", "K", "N"}));
  const std::string& fast = Field(row, "fast_accum");
  if (fast != "True" && fast != "False") {
    return Wrong(row, "fast_accum", "neither True nor False");
  }
  OCTET_ASSIGN_OR_RETURN(const double bf16, SecondsOf(row, "ref_time_s"));
  OCTET_ASSIGN_OR_RETURN(
      const double fp8,
      SecondsOf(row, csv_.Find("time_s") >= 0 ? "time_s" : "fp8_time_s"));
  // bf16 is there with either value of fast_accum, which changes nothing.
  OCTET_RETURN_IF_ERROR(
      table_->Add("bf16", sizes, {bf16, "", row.line}, /*keep_faster=*/true));
  return table_->Add(absl::StrCat(table_->options_.torchao_scale_mode,
                                  fast == "True" ? "_fast" : ""),
                     sizes, {fp8, "", row.line}, /*keep_faster=*/false);
}

}  // namespace octet::roofline
