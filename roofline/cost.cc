// SPDX-License-Identifier: Apache-2.0

#include "roofline/cost.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "roofline/octet_cost.h"
#include "roofline/torchao_cost.h"

namespace octet::roofline {
namespace {

// All options that only some models have, as "name is value" where not default.
std::vector<std::string> OctetOptions(const LinearOptions& o) {
  std::vector<std::string> set;
  if (!o.saved_transposes) set.push_back("saved_transposes is false");
  if (o.recompute) set.push_back("recompute is true");
  if (o.microbatches != 1) {
    set.push_back(absl::StrCat("microbatches is ", o.microbatches));
  }
  if (o.gather != Gather::kNone) set.push_back("gather is set");
  if (o.ranks != 1) set.push_back(absl::StrCat("ranks is ", o.ranks));
  if (o.norm) set.push_back("norm is true");
  return set;
}

std::vector<std::string> Pr668Options(const LinearOptions& o) {
  std::vector<std::string> set;
  if (o.compile_limitations) set.push_back("compile_limitations is true");
  if (o.scaling_input != Scaling::kDynamic) {
    set.push_back("scaling_input is delayed");
  }
  if (o.scaling_weight != Scaling::kDynamic) {
    set.push_back("scaling_weight is delayed");
  }
  if (o.scaling_grad_output != Scaling::kDynamic) {
    set.push_back("scaling_grad_output is delayed");
  }
  return set;
}

absl::Status CheckModelHas(const LinearOptions& options) {
  std::vector<std::string> alien;
  if (options.model != CostModel::kOctet) alien = OctetOptions(options);
  if (options.model != CostModel::kPr668) {
    for (const std::string& text : Pr668Options(options)) {
      alien.push_back(text);
    }
  } else if (options.fused_producer) {
    alien.push_back("fused_producer is true");
  }
  if (alien.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cost: ", alien.front(), ", which the model ",
                   CostModelName(options.model), " does not have"));
}

absl::Status CheckOctet(const LinearOptions& options) {
  if (options.microbatches < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cost: microbatches is ", options.microbatches, ", must be positive"));
  }
  if (options.ranks < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("cost: ranks is ", options.ranks, ", must be positive"));
  }
  if (options.ranks > 1 && options.gather == Gather::kNone) {
    return absl::InvalidArgumentError(
        absl::StrCat("cost: ranks is ", options.ranks,
                     " but weights are not gathered; choose bf16 or float8"));
  }
  if (options.recipe == "bf16" && options.gather == Gather::kFp8) {
    return absl::InvalidArgumentError(
        "cost: recipe is bf16, whose weights cannot be gathered in float8");
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<CostModel>& CostModels() {
  static const auto* const models =
      new std::vector<CostModel>{CostModel::kOctet, CostModel::kPr668,
                                 CostModel::kPr1789, CostModel::kHead};
  return *models;
}

absl::string_view CostModelName(CostModel model) {
  switch (model) {
    case CostModel::kOctet:
      return "octet";
    case CostModel::kPr668:
      return "pr668";
    case CostModel::kPr1789:
      return "pr1789";
    case CostModel::kHead:
      return "head";
  }
  return "";
}

absl::StatusOr<CostModel> ParseCostModel(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const CostModel model : CostModels()) {
    if (CostModelName(model) == name) return model;
    names.push_back(CostModelName(model));
  }
  return absl::InvalidArgumentError(absl::StrCat("cost: model is \"", name,
                                                 "\", must be one of ",
                                                 absl::StrJoin(names, ", ")));
}

const std::vector<std::string>& CostRecipes(CostModel model) {
  static const auto* const octet = new std::vector<std::string>{
      "bf16",    "tensorwise",    "tensorwise_delayed",
      "rowwise", "rowwise_gw_hp", "blockwise",
      "mxfp8"};
  static const auto* const pr668 =
      new std::vector<std::string>{"bf16", "tensorwise"};
  static const auto* const pr1789 = new std::vector<std::string>{
      "bf16", "tensorwise", "rowwise", "rowwise_gw_hp", "mxfp8_cutlass"};
  static const auto* const head =
      new std::vector<std::string>{"bf16",
                                   "tensorwise",
                                   "rowwise",
                                   "rowwise_gw_hp",
                                   "blockwise_fp8_1x128",
                                   "mxfp8_cublas",
                                   "mxfp8_cublas_rceil",
                                   "mxfp8_emulated",
                                   "mxfp8_32x32_weight",
                                   "mxfp8_32x32_flexible_gemm_layout",
                                   "mxfp4_cutlass"};
  switch (model) {
    case CostModel::kOctet:
      return *octet;
    case CostModel::kPr668:
      return *pr668;
    case CostModel::kPr1789:
      return *pr1789;
    case CostModel::kHead:
      break;
  }
  return *head;
}

absl::StatusOr<Scaling> ParseScaling(absl::string_view name) {
  if (name == "dynamic") return Scaling::kDynamic;
  if (name == "delayed") return Scaling::kDelayed;
  return absl::InvalidArgumentError(absl::StrCat(
      "cost: scaling is \"", name, "\", must be dynamic or delayed"));
}

absl::StatusOr<std::vector<KernelCost>> LinearCost(const LinearOptions& given) {
  LinearOptions options = given;
  if (options.recipe == "rowwise_with_gw_hp") options.recipe = "rowwise_gw_hp";
  const std::vector<std::string>& recipes = CostRecipes(options.model);
  if (std::find(recipes.begin(), recipes.end(), options.recipe) ==
      recipes.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cost: recipe is \"", given.recipe, "\"; the model ",
        CostModelName(options.model), " has ", absl::StrJoin(recipes, ", ")));
  }
  OCTET_RETURN_IF_ERROR(CheckModelHas(options));
  if (options.model == CostModel::kPr668) return internal::Pr668Cost(options);
  if (options.model != CostModel::kOctet) {
    return internal::TorchaoCost(options);
  }
  OCTET_RETURN_IF_ERROR(CheckOctet(options));
  return internal::OctetCost(options);
}

Polynomial TotalBytes(const std::vector<KernelCost>& kernels) {
  Polynomial sum;
  for (const KernelCost& kernel : kernels) sum += kernel.count * kernel.bytes;
  return sum;
}

Polynomial TotalFlops(const std::vector<KernelCost>& kernels) {
  Polynomial sum;
  for (const KernelCost& kernel : kernels) sum += kernel.count * kernel.flops;
  return sum;
}

Polynomial TotalWireBytes(const std::vector<KernelCost>& kernels) {
  Polynomial sum;
  for (const KernelCost& kernel : kernels) {
    sum += kernel.count * kernel.wire_bytes;
  }
  return sum;
}

Polynomial OverheadBytes(const std::vector<KernelCost>& kernels,
                         Operand operand) {
  Polynomial sum;
  for (const KernelCost& kernel : kernels) {
    if (kernel.part != "cast" && kernel.part != "amax") continue;
    if (kernel.operand == operand) sum += kernel.count * kernel.bytes;
  }
  return sum;
}

double TotalLaunches(const std::vector<KernelCost>& kernels) {
  double sum = 0;
  for (const KernelCost& kernel : kernels) {
    sum += kernel.count * kernel.launches;
  }
  return sum;
}

}  // namespace octet::roofline
