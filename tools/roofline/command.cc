// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/command.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/atomic_file.h"

namespace octet::tools {
namespace {

absl::StatusOr<std::string> OutfileOf(const CommandLine& line) {
  const bool has_flag = line.Has("outfile");
  if (line.words.size() > (has_flag ? 0u : 1u)) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument \"", line.words.back(), "\""));
  }
  std::string path =
      line.words.empty() ? line.Get("outfile", "") : line.words[0];
  if (path.empty() && (has_flag || !line.words.empty())) {
    return absl::InvalidArgumentError("--outfile= names no file");
  }
  return path;
}

absl::string_view FormatByName(absl::string_view path) {
  if (path.empty() || absl::EndsWith(path, ".txt")) return "text";
  return absl::EndsWith(path, ".json") ? "json" : "csv";
}

}  // namespace

const std::vector<FlagSpec>& OutputFlags() {
  static const auto& flags =
      *new std::vector<FlagSpec>{{"format"}, {"outfile"}};
  return flags;
}

std::string OutputUsage() {
  return "  --format=text|csv|json   how the table is printed\n"
         "  --outfile=FILE           writes it there instead: csv, or json or "
         "text by the\n"
         "                           name's end (.json, .txt); a word that "
         "ends "
         "in one of the\n"
         "                           three does the same\n";
}

std::vector<FlagSpec> JoinFlags(const std::vector<std::vector<FlagSpec>>& all) {
  std::vector<FlagSpec> flags;
  for (const auto& some : all) {
    flags.insert(flags.end(), some.begin(), some.end());
  }
  return flags;
}

absl::StatusOr<RooflineOutput> Deliver(const CommandLine& line,
                                       absl::string_view above,
                                       const Table& table) {
  OCTET_ASSIGN_OR_RETURN(const std::string path, OutfileOf(line));
  std::string format(FormatByName(path));
  if (line.Has("format")) {
    OCTET_ASSIGN_OR_RETURN(format,
                           line.GetChoice("format", {"text", "csv", "json"}));
  }
  std::string text = format == "csv"    ? table.Csv()
                     : format == "json" ? table.Json()
                                        : absl::StrCat(above, table.Text());
  if (path.empty()) return RooflineOutput{std::move(text), ""};
  OCTET_RETURN_IF_ERROR(io::WriteFile(path, text));
  return RooflineOutput{
      "", absl::StrCat("wrote ", table.rows().size(), " rows to ", path, "\n")};
}

absl::Status CheckOutfileWord(const CommandLine& line, absl::string_view flag) {
  if (line.words.empty()) return absl::OkStatus();
  const std::string& word = line.words[0];
  for (const char* end : {".csv", ".json", ".txt"}) {
    if (absl::EndsWith(word, end)) return OutfileOf(line).status();
  }
  if (absl::EndsWith(word, ".html")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "unexpected argument \"", word, "\": --html=", word, " writes a page"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unexpected argument \"", word,
                   "\", which ends in none of .csv, .json, "
                   ".txt: did you mean --",
                   flag, "=", word, ", or --outfile=", word, "?"));
}

}  // namespace octet::tools
