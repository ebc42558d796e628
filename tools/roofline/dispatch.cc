// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/dispatch.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "tools/roofline/breakeven.h"
#include "tools/roofline/command.h"
#include "tools/roofline/compare.h"
#include "tools/roofline/linear.h"
#include "tools/roofline/model.h"
#include "tools/roofline/symbolic.h"

namespace octet::tools {
namespace {

// A row a subcommand, in the order of --help.
const std::vector<const RooflineCommand*>& Commands() {
  static const auto& commands = *new std::vector<const RooflineCommand*>{
      &LinearCommand(),    &ModelCommand(),    &CompareCommand(),
      &BreakevenCommand(), &SymbolicCommand(),
  };
  return commands;
}

std::string Help() {
  std::string help =
      "usage: roofline COMMAND [FLAGS]\n"
      "       roofline OUTFILE [FLAGS of torchao's float8_roofline.py]\n"
      "\n"
      "Predicts whether float8 pays, and by how much, without a GPU.\n"
      "\n";
  for (const RooflineCommand* command : Commands()) {
    absl::StrAppendFormat(&help, "  %-10s  %s\n", command->name,
                          command->summary);
  }
  absl::StrAppend(&help,
                  "\nroofline COMMAND --help says more.\n"
                  "Exit codes: 0 done, 1 failed, 2 wrong command line.\n");
  return help;
}

CommandResult Usage(absl::string_view message, absl::string_view command) {
  return {
      2, "",
      absl::StrCat("roofline: ", message, "\nroofline ", command,
                   command.empty() ? "" : " ", "--help says what there is.\n")};
}

CommandResult Run(const RooflineCommand& command,
                  absl::Span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      return {0,
              absl::StrCat("usage: roofline ", command.name,
                           " ... : ", command.summary, "\n\n", command.usage),
              ""};
    }
  }
  const absl::StatusOr<CommandLine> line =
      ParseCommandLine(command.name, command.flags, arguments);
  if (!line.ok()) return Usage(line.status().message(), command.name);
  absl::StatusOr<RooflineOutput> output = command.run(*line);
  if (output.ok()) return {0, std::move(output->out), std::move(output->notes)};
  if (absl::IsInvalidArgument(output.status())) {
    return Usage(output.status().message(), command.name);
  }
  return {1, "", absl::StrCat("roofline: ", output.status().message(), "\n")};
}

}  // namespace

CommandResult RunRoofline(absl::Span<const std::string> arguments) {
  if (arguments.empty()) return Usage("no command", "");
  const std::string& first = arguments[0];
  if (first == "--help" || first == "-h") return {0, Help(), ""};
  for (const RooflineCommand* command : Commands()) {
    if (command->name == first) return Run(*command, arguments.subspan(1));
  }
  // A file of any name; no subcommand has such letters.
  if (first.find_first_of("./") != std::string::npos ||
      absl::StartsWith(first, "--")) {
    return Run(TorchaoCommand(), arguments);
  }
  return Usage(absl::StrCat("no command \"", first, "\""), "");
}

}  // namespace octet::tools
