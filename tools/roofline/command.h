// SPDX-License-Identifier: Apache-2.0

// What the subcommands of roofline share: how each is described, and where its
// results go.
#ifndef OCTET_TOOLS_ROOFLINE_COMMAND_H_
#define OCTET_TOOLS_ROOFLINE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/command_line.h"
#include "tools/roofline/table.h"

namespace octet::tools {

struct RooflineOutput {
  std::string out;    // standard output: results and nothing else
  std::string notes;  // standard error: warnings, what was written
};

struct RooflineCommand {
  std::string name;
  std::string summary;  // one line
  std::vector<FlagSpec> flags;
  // Below "usage: roofline NAME ..." in --help: flags with their values, and
  // examples.
  std::string usage;
  // InvalidArgument is a wrong command line (exit code 2), others have failed
  // (1).
  absl::StatusOr<RooflineOutput> (*run)(const CommandLine& line);
};

// --format, --outfile: for every command that gives a table.
const std::vector<FlagSpec>& OutputFlags();
std::string OutputUsage();

// The flags of several lists, in order.
std::vector<FlagSpec> JoinFlags(const std::vector<std::vector<FlagSpec>>& all);

// Prints the table as --format says (text, csv, json; text: `above` first), or
// writes it to --outfile, whole or not at all, as csv unless --format or the
// name's end (.json, .txt) says otherwise. A word may stand for --outfile;
// subcommands check it first.
absl::StatusOr<RooflineOutput> Deliver(const CommandLine& line,
                                       absl::string_view above,
                                       const Table& table);

// A word is an output only if it ends in .csv, .json or .txt, so that what was
// meant as the value of --`flag` writes no file. Before anything is written.
absl::Status CheckOutfileWord(const CommandLine& line, absl::string_view flag);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_COMMAND_H_
