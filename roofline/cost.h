// SPDX-License-Identifier: Apache-2.0

// The kernels of one linear layer, forward and backward, under a recipe: by
// this program's engine, or as torchao's roofline tool models them (its PR
// #668 of August 2024, PR #1789 of March 2025, and the head of August 2026).
//
//   model   recipes
//   octet   bf16, tensorwise, tensorwise_delayed, rowwise, rowwise_gw_hp,
//           blockwise, mxfp8
//   pr668   bf16, tensorwise (each operand dynamic or delayed)
//   pr1789  bf16, tensorwise, rowwise, rowwise_gw_hp, mxfp8_cutlass
//   head    bf16, tensorwise, rowwise, rowwise_gw_hp, blockwise_fp8_1x128,
//           mxfp8_cublas, mxfp8_cublas_rceil, mxfp8_emulated,
//           mxfp8_32x32_weight, mxfp8_32x32_flexible_gemm_layout, mxfp4_cutlass
//
// torchao's spelling rowwise_with_gw_hp is taken too.
#ifndef OCTET_ROOFLINE_COST_H_
#define OCTET_ROOFLINE_COST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "roofline/kernel_cost.h"
#include "roofline/polynomial.h"

namespace octet::roofline {

enum class CostModel { kOctet, kPr668, kPr1789, kHead };

// "octet", "pr668", "pr1789", "head"; InvalidArgument that lists them.
absl::StatusOr<CostModel> ParseCostModel(absl::string_view name);
absl::string_view CostModelName(CostModel model);
const std::vector<CostModel>& CostModels();

// As in the table above.
const std::vector<std::string>& CostRecipes(CostModel model);

enum class Scaling { kDynamic, kDelayed };

// "dynamic", "delayed".
absl::StatusOr<Scaling> ParseScaling(absl::string_view name);

enum class Gather { kNone, kBf16, kFp8 };

// What a model does not have is InvalidArgument when it is not the default.
struct LinearOptions {
  CostModel model = CostModel::kOctet;
  std::string recipe = "tensorwise";

  // The kernels that make x and dy take the amax, and cast where the scale is
  // known to them. pr668 fuses always.
  bool fused_producer = false;

  // pr668: torch.compile loses fusions and re-reads.
  bool compile_limitations = false;
  Scaling scaling_input = Scaling::kDynamic;
  Scaling scaling_weight = Scaling::kDynamic;
  Scaling scaling_grad_output = Scaling::kDynamic;

  // octet. The forward cast also writes the transposes that backward needs;
  // else backward casts x and w again, from bf16.
  bool saved_transposes = true;
  // The output GEMM, and the cast of x, run again in backward.
  bool recompute = false;
  // Forward and backward passes that share one cast of w.
  int64_t microbatches = 1;
  // FSDP: w gathered for forward and again for backward, dw reduced in fp32.
  Gather gather = Gather::kNone;
  int64_t ranks = 1;
  // The norm that makes x [M, K], forward and backward.
  bool norm = false;
};

// In order of execution. InvalidArgument names the option and what there is.
absl::StatusOr<std::vector<KernelCost>> LinearCost(
    const LinearOptions& options);

// Sums over kernels, times their counts; of one operand's amax and casts.
Polynomial TotalBytes(const std::vector<KernelCost>& kernels);
Polynomial TotalFlops(const std::vector<KernelCost>& kernels);
Polynomial TotalWireBytes(const std::vector<KernelCost>& kernels);
Polynomial OverheadBytes(const std::vector<KernelCost>& kernels,
                         Operand operand);
double TotalLaunches(const std::vector<KernelCost>& kernels);

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_COST_H_
