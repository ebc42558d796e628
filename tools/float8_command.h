// SPDX-License-Identifier: Apache-2.0

// The float8 command: encode, decode, table, scale and error, for people.
#ifndef OCTET_TOOLS_FLOAT8_COMMAND_H_
#define OCTET_TOOLS_FLOAT8_COMMAND_H_

#include <string>

#include "absl/types/span.h"

namespace octet::tools {

// Exit code 0: `out` is for standard output. 1 (it failed) and 2 (the command
// line is wrong): `error` is for standard error, and `out` is empty.
struct CommandResult {
  int exit_code = 0;
  std::string out;
  std::string error;
};

// The arguments after the program's name.
CommandResult RunFloat8Command(absl::Span<const std::string> arguments);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_FLOAT8_COMMAND_H_
