// SPDX-License-Identifier: Apache-2.0

// What torchao's roofline tool counts, in the order in which it lists
// kernels.
#ifndef OCTET_ROOFLINE_TORCHAO_COST_H_
#define OCTET_ROOFLINE_TORCHAO_COST_H_

#include <vector>

#include "absl/status/statusor.h"
#include "roofline/cost.h"
#include "roofline/kernel_cost.h"

namespace octet::roofline::internal {

// Options that LinearCost has checked.
std::vector<KernelCost> Pr668Cost(const LinearOptions& options);
std::vector<KernelCost> TorchaoCost(const LinearOptions& options);

}  // namespace octet::roofline::internal

#endif  // OCTET_ROOFLINE_TORCHAO_COST_H_
