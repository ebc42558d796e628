// SPDX-License-Identifier: Apache-2.0

// roofline linear: one linear layer, forward and backward, for many shapes.
#ifndef OCTET_TOOLS_ROOFLINE_LINEAR_H_
#define OCTET_TOOLS_ROOFLINE_LINEAR_H_

#include "tools/roofline/command.h"

namespace octet::tools {

const RooflineCommand& LinearCommand();

// What stands for no subcommand: the flags, defaults and columns of torchao's
// float8_roofline.py, of its PR #668 unless a flag is of a later form.
const RooflineCommand& TorchaoCommand();

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_LINEAR_H_
