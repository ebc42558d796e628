// SPDX-License-Identifier: Apache-2.0

// --html and --svg of the subcommands.
#ifndef OCTET_TOOLS_ROOFLINE_PAGE_H_
#define OCTET_TOOLS_ROOFLINE_PAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "roofline/hardware.h"
#include "roofline/report/page.h"
#include "roofline/report/pictures.h"
#include "tools/command_line.h"
#include "tools/roofline/command.h"
#include "tools/roofline/table.h"

namespace octet::tools {

// --html=FILE, --svg=FOLDER.
const std::vector<FlagSpec>& PageFlags();
std::string PageUsage();
bool WantsPage(const CommandLine& line);

// Refuses one file for the table and the page; before either is written.
absl::Status CheckPagePath(const CommandLine& line);

// "roofline model --batch=2": the flags in the order of their names.
std::string CommandText(absl::string_view name, const CommandLine& line);

// What a text shows of it.
roofline::ReportTable PageTable(const Table& table);

// A plot with the hardware's ceilings, by the best rate of either type.
roofline::RooflinePlot PlotOf(const roofline::Hardware& hardware,
                              absl::string_view title);

// Writes what the flags ask for, and says so in output->notes.
absl::Status WritePage(const CommandLine& line, const roofline::Report& report,
                       RooflineOutput* output);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_PAGE_H_
