// SPDX-License-Identifier: Apache-2.0

// The table behind KnownHardware.
#ifndef OCTET_ROOFLINE_HARDWARE_DATA_H_
#define OCTET_ROOFLINE_HARDWARE_DATA_H_

#include <vector>

#include "roofline/hardware.h"

namespace octet::roofline::internal {

std::vector<Hardware> HardwareData();

}  // namespace octet::roofline::internal

#endif  // OCTET_ROOFLINE_HARDWARE_DATA_H_
