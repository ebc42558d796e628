// SPDX-License-Identifier: Apache-2.0

// The GPUs that torchao's roofline tool knows, with its own numbers: some are
// not those of datasheets (2.4 TB/s for an H100).
#ifndef OCTET_ROOFLINE_TORCHAO_HARDWARE_H_
#define OCTET_ROOFLINE_TORCHAO_HARDWARE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "roofline/cost.h"
#include "roofline/hardware.h"

namespace octet::roofline {

// Of pr668 ("H100" alone), pr1789 or head, by torchao's name or a name that
// begins with it. InvalidArgument that lists the known ones, for kOctet, and
// for cards that torchao names without the shares it needs (RTX 5090).
absl::StatusOr<Hardware> TorchaoHardware(CostModel model,
                                         absl::string_view name);

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_TORCHAO_HARDWARE_H_
