// SPDX-License-Identifier: Apache-2.0

#include "roofline/kernel_cost.h"

#include "absl/strings/str_cat.h"

namespace octet::roofline {
namespace {

constexpr double kBf16Bytes = 2;

// The rest of what each of `ranks` holds a slice of.
double Others(int64_t ranks) { return static_cast<double>(ranks - 1) / ranks; }

}  // namespace

absl::string_view OperandName(Operand operand) {
  switch (operand) {
    case Operand::kInput:
      return "input";
    case Operand::kWeight:
      return "weight";
    case Operand::kGradOutput:
      return "grad_output";
  }
  return "";
}

Polynomial Elements(Operand operand) {
  switch (operand) {
    case Operand::kInput:
      return kM * kK;
    case Operand::kWeight:
      return kK * kN;
    case Operand::kGradOutput:
      return kM * kN;
  }
  return {};
}

absl::string_view GemmRoleName(GemmRole role) {
  switch (role) {
    case GemmRole::kOutput:
      return "output";
    case GemmRole::kGradInput:
      return "grad_input";
    case GemmRole::kGradWeight:
      return "grad_weight";
  }
  return "";
}

KernelCost GemmCost(GemmRole role, absl::string_view mode, double left_bytes,
                    double right_bytes) {
  KernelCost cost;
  cost.name = absl::StrCat("gemm ", GemmRoleName(role));
  cost.part = "gemm";
  cost.mode = std::string(mode);
  cost.flops = 2 * kM * kK * kN;
  const Polynomial x = Elements(Operand::kInput);
  const Polynomial w = Elements(Operand::kWeight);
  const Polynomial y = Elements(Operand::kGradOutput);
  switch (role) {
    case GemmRole::kOutput:
      cost.bytes = left_bytes * x + right_bytes * w + kBf16Bytes * y;
      break;
    case GemmRole::kGradInput:
      cost.bytes = left_bytes * y + right_bytes * w + kBf16Bytes * x;
      cost.gemm = {Variable::kM, Variable::kN, Variable::kK};
      cost.pass = Pass::kBackward;
      break;
    case GemmRole::kGradWeight:
      cost.bytes = left_bytes * y + right_bytes * x + kBf16Bytes * w;
      cost.gemm = {Variable::kK, Variable::kM, Variable::kN};
      cost.pass = Pass::kBackward;
      break;
  }
  return cost;
}

KernelCost AmaxCost(Operand operand) {
  KernelCost cost;
  cost.name = absl::StrCat("amax ", OperandName(operand));
  cost.part = "amax";
  cost.operand = operand;
  cost.pass =
      operand == Operand::kGradOutput ? Pass::kBackward : Pass::kForward;
  cost.bytes = kBf16Bytes * Elements(operand);
  return cost;
}

KernelCost CastCost(absl::string_view name, Operand operand, double reads,
                    double writes) {
  KernelCost cost;
  cost.name = absl::StrCat(name, " ", OperandName(operand));
  cost.part = "cast";
  cost.operand = operand;
  cost.pass =
      operand == Operand::kGradOutput ? Pass::kBackward : Pass::kForward;
  cost.bytes = (reads + writes) * Elements(operand);
  return cost;
}

KernelCost NormCost(Pass pass) {
  KernelCost cost;
  cost.name = pass == Pass::kForward ? "norm" : "norm gradient";
  cost.part = "norm";
  cost.pass = pass;
  const double tensors = pass == Pass::kForward ? 2 : 3;
  cost.bytes = tensors * kBf16Bytes * kM * kK;
  return cost;
}

KernelCost ActivationCost(Pass pass) {
  KernelCost cost;
  cost.name = pass == Pass::kForward ? "activation" : "activation gradient";
  cost.part = "activation";
  cost.pass = pass;
  const double tensors = pass == Pass::kForward ? 3 : 5;
  cost.bytes = tensors * kBf16Bytes * kM * kN;
  return cost;
}

KernelCost AllGatherCost(const Polynomial& elements, double element_bytes,
                         int64_t ranks) {
  KernelCost cost;
  cost.name = "all-gather";
  cost.part = "collective";
  cost.ranks = ranks;
  cost.wire_bytes = element_bytes * Others(ranks) * elements;
  // The slice is read, the whole written.
  cost.bytes = element_bytes * (1 + 1.0 / ranks) * elements;
  return cost;
}

KernelCost ReduceScatterCost(const Polynomial& elements, double element_bytes,
                             int64_t ranks) {
  KernelCost cost;
  cost.name = "reduce-scatter";
  cost.part = "collective";
  cost.ranks = ranks;
  cost.pass = Pass::kBackward;
  cost.wire_bytes = element_bytes * Others(ranks) * elements;
  // The whole is read, the slice written.
  cost.bytes = element_bytes * (1 + 1.0 / ranks) * elements;
  return cost;
}

}  // namespace octet::roofline
