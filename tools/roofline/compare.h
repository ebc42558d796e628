// SPDX-License-Identifier: Apache-2.0

// roofline compare: what was measured against what is predicted.
#ifndef OCTET_TOOLS_ROOFLINE_COMPARE_H_
#define OCTET_TOOLS_ROOFLINE_COMPARE_H_

#include "tools/roofline/command.h"

namespace octet::tools {

const RooflineCommand& CompareCommand();

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_COMPARE_H_
