// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/hardware.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "io/atomic_file.h"
#include "roofline/cost.h"
#include "roofline/hardware.h"
#include "roofline/hardware_fields.h"
#include "roofline/hardware_file.h"
#include "tools/roofline/options.h"
#include "tools/roofline/table.h"

namespace octet::tools {
namespace {

constexpr char kToml[] = ".toml";

// A number that is not known is an empty cell.
Cell Known(double value, double unit) {
  return value > 0 ? Cell(value / unit) : Cell();
}

Table AllCards() {
  Table table(
      {{"name"},
       {"bf16_tflops", CellStyle::kNumber, "bf16 TFLOP/s"},
       {"fp8_tflops", CellStyle::kNumber, "fp8"},
       {"fp4_tflops", CellStyle::kNumber, "fp4"},
       {"memory_gigabytes_per_second", CellStyle::kNumber, "GB/s"},
       {"memory_gigabytes", CellStyle::kNumber, "GB"},
       {"nvlink_gigabytes_per_second", CellStyle::kNumber, "link GB/s"},
       {"network_gigabytes_per_second", CellStyle::kNumber, "network GB/s"},
       {"gpus_per_node", CellStyle::kWhole, "GPUs a node"},
       {"rates"}});
  for (const roofline::Hardware& h : roofline::KnownHardware()) {
    table.AddRow({h.name, Known(h.bf16_flops, 1e12), Known(h.fp8_flops, 1e12),
                  Known(h.fp4_flops, 1e12), Known(h.memory_rate, 1e9),
                  Known(h.memory_bytes, 1e9), Known(h.nvlink_rate, 1e9),
                  Known(h.network_rate, 1e9), int64_t{h.gpus_per_node},
                  std::string(h.gemm_flops.empty() ? "shares of the peaks"
                                                   : "measured")});
  }
  return table;
}

Table OneCard(const roofline::Hardware& hardware) {
  Table table({{"key"}, {"value", CellStyle::kNumber}, {"source"}});
  for (roofline::HardwareNumber& number : roofline::HardwareNumbers(hardware)) {
    table.AddRow(
        {std::move(number.key), number.value,
         number.source.empty() ? Cell() : Cell(std::move(number.source))});
  }
  return table;
}

// The card that a word or --hardware names; "" for all. Takes the word away, so
// that what is left may name an output.
absl::StatusOr<std::string> TakeCard(CommandLine* line) {
  if (line->Has("hardware") || line->words.empty()) {
    return line->Get("hardware", "");
  }
  for (const char* end : {".csv", ".json", ".txt"}) {
    if (absl::EndsWith(line->words[0], end)) return std::string();
  }
  std::string card = line->words[0];
  line->words.erase(line->words.begin());
  return card;
}

absl::StatusOr<RooflineOutput> AsFile(const CommandLine& line,
                                      const roofline::Hardware& hardware) {
  if (!line.words.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument \"", line.words[0], "\""));
  }
  const std::string path = line.Get("outfile", "");
  if (path.empty()) {
    OCTET_RETURN_IF_ERROR(roofline::CheckHardware(hardware));
    return RooflineOutput{roofline::HardwareToml(hardware), ""};
  }
  OCTET_RETURN_IF_ERROR(io::WriteFile(path, roofline::HardwareToml(hardware)));
  return RooflineOutput{"", absl::StrCat("wrote ", path, "\n")};
}

absl::StatusOr<RooflineOutput> RunHardware(const CommandLine& given) {
  CommandLine line = given;
  OCTET_ASSIGN_OR_RETURN(const std::string card, TakeCard(&line));
  OCTET_RETURN_IF_ERROR(CheckOutfileWord(line, "hardware"));
  const bool as_file =
      line.Get("format", "") == "toml" ||
      (!line.Has("format") && absl::EndsWith(line.Get("outfile", ""), kToml));
  if (card.empty()) {
    if (as_file) {
      return absl::InvalidArgumentError(
          absl::StrCat("a card's file is of one card: name it, of ",
                       roofline::KnownHardwareNames()));
    }
    return Deliver(line, "", AllCards());
  }
  line.flags["hardware"] = card;
  OCTET_ASSIGN_OR_RETURN(const roofline::Hardware hardware,
                         HardwareOf(line, roofline::CostModel::kOctet));
  if (as_file) return AsFile(line, hardware);
  return Deliver(line, absl::StrCat(hardware.name, "\n\n"), OneCard(hardware));
}

// A line for every few.
std::string IndentedKeys() {
  std::string text, row;
  for (const absl::string_view key :
       absl::StrSplit(roofline::HardwareFileKeys(), ", ")) {
    if (row.size() + key.size() > 76) {
      absl::StrAppend(&text, " ", row, ",\n");
      row.clear();
    }
    absl::StrAppend(&row, row.empty() ? " " : ", ", key);
  }
  return absl::StrCat(text, " ", row, "\n");
}

}  // namespace

const RooflineCommand& HardwareCommand() {
  static const auto& command = *new RooflineCommand{
      "hardware",
      "the cards that are known, or one with the sources of its numbers",
      JoinFlags({{{"hardware"}}, OutputFlags()}),
      absl::StrCat(
          "  NAME or FILE.toml (--hardware=)   of ",
          roofline::KnownHardwareNames(),
          "\n                           none: all\n"
          "  --format=toml            as a card's file, to change; also by an "
          "outfile's end\n",
          OutputUsage(),
          "\na card's FILE.toml has, of these keys, at least name, "
          "bf16_tflops and\nmemory_gigabytes_per_second:\n",
          IndentedKeys(),
          "\nexamples:\n"
          "  roofline hardware\n"
          "  roofline hardware H200\n"
          "  roofline hardware B200 --outfile=mine.toml\n"),
      &RunHardware};
  return command;
}

}  // namespace octet::tools
