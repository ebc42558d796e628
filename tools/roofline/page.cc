// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/page.h"

#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace octet::tools {

const std::vector<FlagSpec>& PageFlags() {
  static const auto& flags = *new std::vector<FlagSpec>{{"html"}, {"svg"}};
  return flags;
}

std::string PageUsage() {
  return "  --html=FILE              a page with pictures and the table, in "
         "one "
         "file\n"
         "  --svg=FOLDER             the pictures as files\n";
}

bool WantsPage(const CommandLine& line) {
  return line.Has("html") || line.Has("svg");
}

std::string CommandText(absl::string_view name, const CommandLine& line) {
  std::string text = absl::StrCat("roofline ", name);
  for (const std::string& word : line.words) absl::StrAppend(&text, " ", word);
  for (const auto& [flag, value] : line.flags) {
    absl::StrAppend(&text, " --", flag, value.empty() ? "" : "=", value);
  }
  return text;
}

roofline::ReportTable PageTable(const Table& table) {
  return {table.TextHeader(), table.TextRows()};
}

roofline::RooflinePlot PlotOf(const roofline::Hardware& hardware,
                              absl::string_view title) {
  roofline::RooflinePlot plot;
  plot.title = std::string(title);
  plot.bytes_per_second = hardware.memory_rate;
  plot.ceilings.push_back({"bf16", hardware.bf16_flops});
  if (hardware.fp8_flops > 0) {
    plot.ceilings.push_back({"float8", hardware.fp8_flops});
  }
  return plot;
}

absl::Status CheckPagePath(const CommandLine& line) {
  const std::string table =
      line.words.empty() ? line.Get("outfile", "") : line.words[0];
  const std::string page = line.Get("html", "");
  if (table.empty() || page.empty()) return absl::OkStatus();
  const auto plain = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path),
                                             ignored);
  };
  if (plain(table) != plain(page)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--html=", page, " is the table's file too: ", table));
}

absl::Status WritePage(const CommandLine& line, const roofline::Report& report,
                       RooflineOutput* output) {
  OCTET_RETURN_IF_ERROR(CheckPagePath(line));
  for (const char* flag : {"html", "svg"}) {
    if (line.Has(flag) && line.Get(flag, "").empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, "= names no ",
                       absl::string_view(flag) == "html" ? "file" : "folder"));
    }
  }
  if (line.Has("svg")) {
    const std::string folder = line.Get("svg", "");
    OCTET_RETURN_IF_ERROR(roofline::WriteReportPictures(folder, report));
    absl::StrAppend(&output->notes, "wrote pictures to ", folder, "\n");
  }
  if (line.Has("html")) {
    const std::string path = line.Get("html", "");
    OCTET_RETURN_IF_ERROR(roofline::WriteReportHtml(path, report));
    absl::StrAppend(&output->notes, "wrote ", path, "\n");
  }
  return absl::OkStatus();
}

}  // namespace octet::tools
