// SPDX-License-Identifier: Apache-2.0

// The roofline command: whether float8 pays, and by how much.
#ifndef OCTET_TOOLS_ROOFLINE_DISPATCH_H_
#define OCTET_TOOLS_ROOFLINE_DISPATCH_H_

#include <string>

#include "absl/types/span.h"
#include "tools/command_line.h"

namespace octet::tools {

// The arguments after the program's name. Without a subcommand, but with the
// file or a flag of torchao's float8_roofline.py, they are that script's.
CommandResult RunRoofline(absl::Span<const std::string> arguments);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_DISPATCH_H_
