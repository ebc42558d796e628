// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/dispatch.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/edit_distance.h"
#include "tools/roofline/breakeven.h"
#include "tools/roofline/command.h"
#include "tools/roofline/compare.h"
#include "tools/roofline/hardware.h"
#include "tools/roofline/linear.h"
#include "tools/roofline/model.h"
#include "tools/roofline/symbolic.h"

namespace octet::tools {
namespace {

// A row a subcommand, in the order of --help.
const std::vector<const RooflineCommand*>& Commands() {
  static const auto& commands = *new std::vector<const RooflineCommand*>{
      &LinearCommand(),    &ModelCommand(),    &CompareCommand(),
      &BreakevenCommand(), &SymbolicCommand(), &HardwareCommand(),
  };
  return commands;
}

std::string Help() {
  std::string help =
      "usage: roofline COMMAND [FLAGS]\n"
      "       roofline OUTFILE.csv [FLAGS of torchao's float8_roofline.py]\n"
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

// A flag of torchao's script among them.
bool HasTorchaoFlag(absl::Span<const std::string> arguments) {
  static const auto& names =
      *new std::vector<std::string>{"gemm_time_strategy",
                                    "gemm_benchmarks_file",
                                    "model_torch_compile_limitations",
                                    "scaling_type_input",
                                    "scaling_type_weight",
                                    "scaling_type_grad_output",
                                    "do_benchmarks",
                                    "shape_gen_name",
                                    "gemm_cache_filename",
                                    "n_limit",
                                    "float8_recipe_name",
                                    "mx_recipe_name",
                                    "enable_fusion_modeling"};
  for (const std::string& argument : arguments) {
    if (!absl::StartsWith(argument, "--")) continue;
    const std::string name = absl::StrReplaceAll(
        argument.substr(2, argument.find('=') - 2), {{"-", "_"}});
    if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  }
  return false;
}

// The subcommand that the word may be a typo of, or null.
const RooflineCommand* NearCommand(const std::string& word) {
  for (const RooflineCommand* command : Commands()) {
    if (IsNear(command->name, word)) return command;
  }
  return nullptr;
}

CommandResult NoCommand(const std::string& word) {
  std::string message = absl::StrCat("no command \"", word, "\"");
  if (const RooflineCommand* near = NearCommand(word)) {
    absl::StrAppend(&message, "; did you mean ", near->name,
                    ", or --outfile=", word, " as of torchao's script?");
  }
  return Usage(message, "");
}

}  // namespace

CommandResult RunRoofline(absl::Span<const std::string> arguments) {
  if (arguments.empty()) return Usage("no command", "");
  const std::string& first = arguments[0];
  if (first == "--help" || first == "-h") return {0, Help(), ""};
  for (const RooflineCommand* command : Commands()) {
    if (command->name == first) return Run(*command, arguments.subspan(1));
  }
  // No subcommand has such letters. Another name is torchao's OUTFILE if flags
  // of its script follow, unless it looks like a subcommand mistyped.
  if (first.find_first_of("./") != std::string::npos ||
      absl::StartsWith(first, "--") ||
      (NearCommand(first) == nullptr && HasTorchaoFlag(arguments.subspan(1)))) {
    return Run(TorchaoCommand(), arguments);
  }
  return NoCommand(first);
}

}  // namespace octet::tools
