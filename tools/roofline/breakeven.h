// SPDX-License-Identifier: Apache-2.0

// roofline breakeven: from which size on float8 is faster.
#ifndef OCTET_TOOLS_ROOFLINE_BREAKEVEN_H_
#define OCTET_TOOLS_ROOFLINE_BREAKEVEN_H_

#include "tools/roofline/command.h"

namespace octet::tools {

const RooflineCommand& BreakevenCommand();

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_BREAKEVEN_H_
