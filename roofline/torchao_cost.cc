// SPDX-License-Identifier: Apache-2.0

#include "roofline/torchao_cost.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace octet::roofline::internal {
namespace {

// Bytes an element of each kernel that makes an operand float8; `fused` where
// the producer of x or dy does the first one's reading.
struct Overhead {
  std::vector<double> activation;
  std::vector<double> fused;
  std::vector<double> weight;
};

Overhead Mxfp8Overhead(absl::string_view recipe) {
  if (recipe == "mxfp8_cutlass") return {{4}, {2}, {3, 3}};
  if (recipe == "mxfp8_32x32_weight") return {{3, 3}, {1, 3}, {3, 2}};
  if (recipe == "mxfp8_32x32_flexible_gemm_layout") return {{3}, {1}, {3}};
  return {{3, 3}, {1, 3}, {3, 3}};
}

// The 0s are small kernels that count for their launch.
Overhead RecipeOverhead(absl::string_view recipe) {
  if (recipe == "bf16") return {};
  if (recipe == "tensorwise") return {{2, 0, 4}, {0, 0, 4}, {2, 0, 3, 3}};
  if (recipe == "rowwise") return {{5, 3}, {3, 3}, {3, 4, 3}};
  if (recipe == "rowwise_gw_hp") return {{3}, {1}, {3, 0, 3}};
  if (recipe == "mxfp4_cutlass") {
    return {{2.5, 2.5}, {0.5, 2.5}, {2.5, 2.5}};
  }
  if (recipe == "blockwise_fp8_1x128") {
    const double row = 4.0 / 128;
    const double block = 4.0 / (128 * 128);
    return {{3 + row, 3 + row}, {1 + row, 3 + row}, {3 + block, 3 + block}};
  }
  return Mxfp8Overhead(recipe);
}

std::string Mode(absl::string_view recipe, GemmRole role) {
  if (recipe == "bf16") return "bf16";
  if (absl::StartsWith(recipe, "mxfp8")) return "mxfp8";
  if (absl::StartsWith(recipe, "mxfp4")) return "mxfp4";
  if (absl::StartsWith(recipe, "blockwise")) return "block128";
  if (recipe == "rowwise_gw_hp" && role == GemmRole::kGradWeight) return "bf16";
  const std::string scales =
      absl::StartsWith(recipe, "rowwise") ? "row" : "tensor";
  return role == GemmRole::kOutput ? scales + "_fast" : scales;
}

// With a scale of one byte for each 32 elements of the mx formats.
double ReadBytes(absl::string_view mode) {
  if (mode == "bf16") return 2;
  if (mode == "mxfp8") return 1 + 1.0 / 32;
  if (mode == "mxfp4") return 0.5 * (1 + 1.0 / 32);
  return 1;
}

void AddGemms(absl::string_view recipe, std::vector<KernelCost>* kernels) {
  for (const GemmRole role :
       {GemmRole::kOutput, GemmRole::kGradInput, GemmRole::kGradWeight}) {
    const std::string mode = Mode(recipe, role);
    kernels->push_back(GemmCost(role, mode, ReadBytes(mode)));
  }
}

void AddOperand(Operand operand, const std::vector<double>& bytes,
                absl::string_view recipe, std::vector<KernelCost>* kernels) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool amax = recipe == "tensorwise" && i < 2;
    KernelCost cost = CastCost(!amax    ? "cast"
                               : i == 0 ? "amax"
                                        : "amax, second stage",
                               operand, bytes[i], 0);
    if (amax) cost.part = "amax";
    kernels->push_back(cost);
  }
}

// pr668. `fused`: with the kernel before, as x and dy are and w is not.
void AddPr668Operand(Operand operand, Scaling scaling, bool fused,
                     bool compile_limitations,
                     std::vector<KernelCost>* kernels) {
  if (scaling == Scaling::kDynamic) {
    KernelCost amax = AmaxCost(operand);
    if (fused) amax.bytes = {};
    // The second stage is the small kernel that counts.
    kernels->push_back(amax);
    // Limits: a transposed copy costs one more read (pytorch#130015).
    KernelCost cast = CastCost("cast", operand, compile_limitations ? 3 : 2, 2);
    cast.launches = 0;
    kernels->push_back(cast);
    return;
  }
  // Limits: amax and cast do not fuse into the producer (pytorch#128063), and
  // the copy is the same.
  const double reads = compile_limitations ? (fused ? 3 : 5) : (fused ? 0 : 2);
  KernelCost cast = CastCost("cast", operand, reads, 2);
  // A history's maximum, and its scale.
  cast.launches = 2;
  kernels->push_back(cast);
}

}  // namespace

std::vector<KernelCost> Pr668Cost(const LinearOptions& options) {
  std::vector<KernelCost> kernels;
  AddGemms(options.recipe, &kernels);
  for (KernelCost& gemm : kernels) gemm.launches = 0;
  if (options.recipe == "bf16") return kernels;
  const bool limits = options.compile_limitations;
  AddPr668Operand(Operand::kInput, options.scaling_input, true, limits,
                  &kernels);
  AddPr668Operand(Operand::kWeight, options.scaling_weight, false, limits,
                  &kernels);
  AddPr668Operand(Operand::kGradOutput, options.scaling_grad_output, true,
                  limits, &kernels);
  return kernels;
}

std::vector<KernelCost> TorchaoCost(const LinearOptions& options) {
  std::vector<KernelCost> kernels;
  AddGemms(options.recipe, &kernels);
  const Overhead overhead = RecipeOverhead(options.recipe);
  const std::vector<double>& activation =
      options.fused_producer ? overhead.fused : overhead.activation;
  AddOperand(Operand::kInput, activation, options.recipe, &kernels);
  AddOperand(Operand::kWeight, overhead.weight, options.recipe, &kernels);
  AddOperand(Operand::kGradOutput, activation, options.recipe, &kernels);
  return kernels;
}

}  // namespace octet::roofline::internal
