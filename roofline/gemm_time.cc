// SPDX-License-Identifier: Apache-2.0
#include "roofline/gemm_time.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "io/file.h"
#include "roofline/gemm_table_reader.h"

namespace octet::roofline {
namespace {

// The nearest measured values around x, or false outside of them.
bool Around(const std::set<int64_t>& values, int64_t x, int64_t* below,
            int64_t* above) {
  const auto next = values.lower_bound(x);
  if (next == values.end()) return false;
  *above = *next;
  *below = *next;
  if (*next == x) return true;
  if (next == values.begin()) return false;
  *below = *std::prev(next);
  return true;
}

constexpr absl::string_view kNames[] = {"m", "k", "n"};

std::string Text(const std::array<int64_t, 3>& sizes) {
  return absl::StrJoin(sizes, "x");
}

// As a shell takes it.
std::string Quoted(const std::string& word) {
  const bool is_plain = std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalnum(c) ||
           absl::string_view("/._-+=:,").find(c) != absl::string_view::npos;
  });
  if (is_plain) return word;
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

}  // namespace

const std::vector<GemmMode>& GemmModes() {
  static const auto& modes = *new std::vector<GemmMode>{
      {"bf16", "bf16", "none", "f32"},
      {"tensor_fast", "e4m3", "tensor", "fast"},
      {"tensor", "e4m3", "tensor", "precise"},
      {"row_fast", "e4m3", "row", "fast"},
      {"row", "e4m3", "row", "precise"},
      {"block128", "e4m3", "block128", "precise"},
      {"block1x128", "e4m3", "block1x128", "precise"},
      {"f32", "f32", "none", "f32"},
  };
  return modes;
}

const std::vector<std::string>& GemmTableColumns() {
  static const auto& columns =
      *new std::vector<std::string>{"device",
                                    "m",
                                    "k",
                                    "n",
                                    "dtype",
                                    "scale_mode",
                                    "accumulation",
                                    "seconds",
                                    "heuristic_seconds",
                                    "tflops",
                                    "reason"};
  return columns;
}

absl::StatusOr<GemmTable> GemmTable::Parse(absl::string_view text,
                                           absl::string_view file,
                                           const GemmTableOptions& options) {
  OCTET_ASSIGN_OR_RETURN(const io::CsvTable csv, io::ParseCsv(text, file));
  GemmTable table;
  table.file_ = std::string(file);
  table.options_ = options;
  GemmTableReader reader(csv, &table);
  OCTET_RETURN_IF_ERROR(reader.Read());
  return table;
}

absl::StatusOr<GemmTable> GemmTable::Read(const std::string& path,
                                          const GemmTableOptions& options) {
  OCTET_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(path));
  return Parse(text, path, options);
}

int64_t GemmTable::size() const {
  int64_t size = 0;
  for (const auto& mode : modes_) size += mode.second.size();
  return size;
}

absl::Status GemmTable::Add(absl::string_view mode, const Sizes3& sizes,
                            Entry entry, bool keep_faster) {
  Entries& entries = modes_[std::string(mode)];
  const auto added = entries.emplace(sizes, entry);
  Entry& old = added.first->second;
  if (added.second) return absl::OkStatus();
  if (!keep_faster) {
    return absl::DataLossError(
        absl::StrCat(file_, ":", entry.line, ": ", mode, " of ", Text(sizes),
                     " is there twice, first in line ", old.line));
  }
  if (entry.seconds < old.seconds) old = std::move(entry);
  return absl::OkStatus();
}

absl::Status GemmTable::NotMeasured(absl::string_view mode, const Sizes3& sizes,
                                    absl::string_view why) const {
  const std::string command = MeasureCommand(Text(sizes), mode);
  return absl::NotFoundError(absl::StrCat(
      file_, ": ", mode, " of ", Text(sizes), " (m, k, n) is not measured", why,
      command.empty() ? "" : "; measure it: ", command));
}

bool GemmTable::Has(absl::string_view mode, int64_t m, int64_t k,
                    int64_t n) const {
  const auto entries = modes_.find(mode);
  return entries != modes_.end() && entries->second.count(Sizes3{m, k, n}) > 0;
}

std::string GemmTable::MeasureCommand(absl::string_view sizes,
                                      absl::string_view modes) const {
  if (is_torchao_) return "";
  return absl::StrCat("gemm_sweep --outfile=", Quoted(file_),
                      " --shapes=", sizes, " --modes=", modes);
}

absl::StatusOr<double> GemmTable::Interpolate(absl::string_view mode,
                                              const Entries& entries,
                                              const Sizes3& sizes) const {
  Sizes3 below, above;
  std::array<double, 3> weight;  // of `above`
  for (int i = 0; i < 3; ++i) {
    std::set<int64_t> values;
    for (const auto& entry : entries) values.insert(entry.first[i]);
    if (!Around(values, sizes[i], &below[i], &above[i])) {
      return NotMeasured(
          mode, sizes,
          absl::StrCat(": ", kNames[i], " is outside of the ", *values.begin(),
                       " to ", *values.rbegin(), " that were"));
    }
    weight[i] = below[i] == above[i]
                    ? 0.0
                    : std::log2(static_cast<double>(sizes[i]) / below[i]) /
                          std::log2(static_cast<double>(above[i]) / below[i]);
  }
  double log_seconds = 0.0;
  for (int corner = 0; corner < 8; ++corner) {
    double w = 1.0;
    Sizes3 at;
    for (int i = 0; i < 3; ++i) {
      const bool is_above = (corner >> i & 1) != 0;
      at[i] = is_above ? above[i] : below[i];
      w *= is_above ? weight[i] : 1.0 - weight[i];
    }
    if (w == 0.0) continue;
    const auto entry = entries.find(at);
    if (entry == entries.end() || entry->second.seconds == 0.0) {
      return NotMeasured(mode, sizes,
                         absl::StrCat(", nor is its neighbour ", Text(at)));
    }
    log_seconds += w * std::log(entry->second.seconds);
  }
  return std::exp(log_seconds);
}

absl::StatusOr<GemmTime> GemmTable::Find(absl::string_view mode, int64_t m,
                                         int64_t k, int64_t n) const {
  const Sizes3 sizes = {m, k, n};
  if (m <= 0 || k <= 0 || n <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("gemm time: ", Text(sizes), " (m, k, n) is no size"));
  }
  std::vector<absl::string_view> names;
  for (const GemmMode& known : GemmModes()) names.push_back(known.name);
  if (std::find(names.begin(), names.end(), mode) == names.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "gemm time: mode ", mode, " is none of ", absl::StrJoin(names, ", ")));
  }
  const auto entries = modes_.find(mode);
  if (entries == modes_.end()) {
    return NotMeasured(mode, sizes, ", as nothing is in that mode");
  }
  const auto entry = entries->second.find(sizes);
  if (entry != entries->second.end()) {
    if (entry->second.seconds > 0.0) {
      return GemmTime{entry->second.seconds, false};
    }
    return absl::NotFoundError(
        absl::StrCat(file_, ":", entry->second.line, ": ", mode, " of ",
                     Text(sizes), " has no time: ", entry->second.reason));
  }
  if (!options_.interpolate) return NotMeasured(mode, sizes, "");
  OCTET_ASSIGN_OR_RETURN(const double seconds,
                         Interpolate(mode, entries->second, sizes));
  return GemmTime{seconds, true};
}

}  // namespace octet::roofline
