// SPDX-License-Identifier: Apache-2.0

// Compares casts and the linear layer with a file that torchao wrote:
//
//   x [m, k], w [n, k], grad_output [m, n], bf16
//   cast.OPERAND.{tensor, row, col}.{exact, pow2}.{e4m3, e5m2}.{data, scale}
//   bf16.{y, grad_x, grad_w}, and RECIPE.emulated.{y, grad_x, grad_w} of
//   torchao's tensorwise, rowwise and rowwise_with_gw_hp
//
// On the CPU. Casts must have the same bytes and scales; outputs and gradients
// are compared in relative Frobenius error.
#ifndef OCTET_TOOLS_VERIFY_LINEAR_H_
#define OCTET_TOOLS_VERIFY_LINEAR_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/verify/report.h"

namespace octet::tools {

// 3e-3 for outputs and gradients. An error is a file that cannot be read or
// that lacks a tensor.
absl::StatusOr<VerifyReport> VerifyLinear(const std::string& path);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_VERIFY_LINEAR_H_
