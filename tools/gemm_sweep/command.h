// SPDX-License-Identifier: Apache-2.0

// The gemm_sweep command: times of scaled products, kept in a CSV that
// //tools:roofline reads.
#ifndef OCTET_TOOLS_GEMM_SWEEP_COMMAND_H_
#define OCTET_TOOLS_GEMM_SWEEP_COMMAND_H_

#include <string>

#include "absl/types/span.h"
#include "tools/command_line.h"

namespace octet::tools {

// The arguments after the program's name. Progress goes to standard error while
// it runs.
CommandResult RunGemmSweep(absl::Span<const std::string> arguments);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_GEMM_SWEEP_COMMAND_H_
