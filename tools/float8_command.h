// SPDX-License-Identifier: Apache-2.0

// The float8 command: encode, decode, table, scale and error, for people.
#ifndef OCTET_TOOLS_FLOAT8_COMMAND_H_
#define OCTET_TOOLS_FLOAT8_COMMAND_H_

#include <string>

#include "absl/types/span.h"
#include "tools/command_line.h"

namespace octet::tools {

// The arguments after the program's name.
CommandResult RunFloat8Command(absl::Span<const std::string> arguments);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_FLOAT8_COMMAND_H_
