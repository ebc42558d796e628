// SPDX-License-Identifier: Apache-2.0

// The verify command: compares Octet with folders of reference values.
#ifndef OCTET_TOOLS_VERIFY_COMMAND_H_
#define OCTET_TOOLS_VERIFY_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/stream.h"
#include "tools/verify/report.h"

namespace octet::tools {

// One report for a llama folder, one for each linear_*.safetensors file of a
// linear folder, which are compared on the CPU alone. NotFound for a folder
// that is neither.
absl::StatusOr<std::vector<VerifyReport>> VerifyFolder(
    const Stream& stream, const std::string& folder);

// Exit code 0: all is within tolerance. 1: something is not, or a folder could
// not be read; the others are still compared. 2: the command line is wrong.
struct VerifyOutcome {
  int exit_code = 0;
  std::string out;
  std::string error;
};

// The arguments after the program's name.
VerifyOutcome RunVerifyCommand(absl::Span<const std::string> arguments);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_VERIFY_COMMAND_H_
