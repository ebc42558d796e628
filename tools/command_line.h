// SPDX-License-Identifier: Apache-2.0

// Command lines of tools: --name=value or --name value, and words.
//
// In names - and _ are the same. A switch has no value. A bool is --name,
// --name=true, --name=false (or True, False, 1, 0, as the next argument too)
// or --noname. "--" ends the flags. Errors are InvalidArgument and name the
// flag and the value; tools exit with 2 for them.
#ifndef OCTET_TOOLS_COMMAND_LINE_H_
#define OCTET_TOOLS_COMMAND_LINE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace octet::tools {

// Exit code 0: `out` is for standard output, `error` for warnings. 1 (it
// failed) and 2 (the command line is wrong): `error` says why, and `out` is
// empty.
struct CommandResult {
  int exit_code = 0;
  std::string out;
  std::string error;
};

enum class FlagKind : uint8_t { kValue, kSwitch, kBool };

struct FlagSpec {
  absl::string_view name;
  FlagKind kind = FlagKind::kValue;
};

struct CommandLine {
  std::map<std::string, std::string, std::less<>> flags;  // a switch is ""
  std::vector<std::string> words;

  bool Has(absl::string_view name) const;
  std::string Get(absl::string_view name, absl::string_view or_else) const;
  bool GetBool(absl::string_view name, bool or_else) const;
  // Whole numbers within [min, max], which may not be written as 1e3.
  absl::StatusOr<int64_t> GetInt(absl::string_view name, int64_t or_else,
                                 int64_t min, int64_t max) const;
  // A finite number within [min, max].
  absl::StatusOr<double> GetDouble(absl::string_view name, double or_else,
                                   double min, double max) const;
  // One of the choices, the first if the flag is absent.
  absl::StatusOr<std::string> GetChoice(
      absl::string_view name,
      absl::Span<const absl::string_view> choices) const;
};

// `command` stands in the messages. An unknown flag, one given twice, one
// without its value, a switch with a value.
absl::StatusOr<CommandLine> ParseCommandLine(
    absl::string_view command, absl::Span<const FlagSpec> flags,
    absl::Span<const std::string> arguments);

// What a main does: changes to the user's directory under `bazel run`, runs,
// prints, and returns the exit code; 1 if standard output takes it not all.
int RunCommand(int argc, char** argv, absl::string_view name,
               CommandResult (*run)(absl::Span<const std::string> arguments));

}  // namespace octet::tools

#endif  // OCTET_TOOLS_COMMAND_LINE_H_
