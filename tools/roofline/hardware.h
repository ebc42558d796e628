// SPDX-License-Identifier: Apache-2.0

// roofline hardware: what is known of a card, and from where.
#ifndef OCTET_TOOLS_ROOFLINE_HARDWARE_H_
#define OCTET_TOOLS_ROOFLINE_HARDWARE_H_

#include "tools/roofline/command.h"

namespace octet::tools {

const RooflineCommand& HardwareCommand();

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_HARDWARE_H_
