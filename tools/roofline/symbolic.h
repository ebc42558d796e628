// SPDX-License-Identifier: Apache-2.0

// roofline symbolic: what a layer moves and computes as formulas in M, K, N.
#ifndef OCTET_TOOLS_ROOFLINE_SYMBOLIC_H_
#define OCTET_TOOLS_ROOFLINE_SYMBOLIC_H_

#include "tools/roofline/command.h"

namespace octet::tools {

const RooflineCommand& SymbolicCommand();

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_SYMBOLIC_H_
