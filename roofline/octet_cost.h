// SPDX-License-Identifier: Apache-2.0

// The kernels of this program's own linear layer (float8/linear.h).
#ifndef OCTET_ROOFLINE_OCTET_COST_H_
#define OCTET_ROOFLINE_OCTET_COST_H_

#include <vector>

#include "roofline/cost.h"
#include "roofline/kernel_cost.h"

namespace octet::roofline::internal {

// Options that LinearCost has checked.
std::vector<KernelCost> OctetCost(const LinearOptions& options);

}  // namespace octet::roofline::internal

#endif  // OCTET_ROOFLINE_OCTET_COST_H_
