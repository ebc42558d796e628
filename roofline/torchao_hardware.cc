// SPDX-License-Identifier: Apache-2.0

#include "roofline/torchao_hardware.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace octet::roofline {
namespace {

struct Row {
  const char* name;
  double bf16, fp8, fp4, memory, gemm_share, memory_share;
};

// 2.4 TB/s is Meta's H100, with HBM2e.
constexpr Row kPr668[] = {{"H100", 989e12, 1979e12, 0, 2.4e12, 0.60, 0.92}};

constexpr Row kPr1789[] = {
    {"NVIDIA H100", 989e12, 1979e12, 0, 2.4e12, 0.78, 0.92}};

constexpr Row kHead[] = {
    {"NVIDIA H100", 989e12, 1979e12, 0, 2.4e12, 0.78, 0.92},
    {"NVIDIA B200", 2.25e15, 4.5e15, 9e15, 7.67232e12, 0.78, 0.92},
    {"NVIDIA B300 SXM6 AC", 2.25e15, 4.5e15, 14e15, 8e12, 0.82, 0.84},
    {"NVIDIA GB200", 2.25e15, 4.5e15, 9e15, 8e12, 0.78, 0.92},
    {"AMD Instinct MI300X", 1307e12, 2614e12, 0, 5.3e12, 0.78, 0.92}};

// Named without shares, and with a bandwidth 1000 times too high.
constexpr char kWithoutShares[] = "NVIDIA GeForce RTX 5090";

std::vector<Row> Rows(CostModel model) {
  switch (model) {
    case CostModel::kPr668:
      return {std::begin(kPr668), std::end(kPr668)};
    case CostModel::kPr1789:
      return {std::begin(kPr1789), std::end(kPr1789)};
    case CostModel::kHead:
      return {std::begin(kHead), std::end(kHead)};
    case CostModel::kOctet:
      break;
  }
  return {};
}

Hardware Make(const Row& row) {
  Hardware h;
  h.name = row.name;
  h.bf16_flops = row.bf16;
  h.fp8_flops = row.fp8;
  h.fp4_flops = row.fp4;
  h.memory_rate = row.memory;
  h.launch_seconds = h.graph_launch_seconds = 2e-6;
  h.bf16_share = h.fp8_share = row.gemm_share;
  h.memory_share = row.memory_share;
  for (const char* field :
       {"bf16_flops", "fp8_flops", "fp4_flops", "memory_rate", "launch_seconds",
        "bf16_share", "fp8_share", "memory_share"}) {
    h.sources[field] = "torchao's roofline tool";
  }
  return h;
}

}  // namespace

absl::StatusOr<Hardware> TorchaoHardware(CostModel model,
                                         absl::string_view name) {
  const std::vector<Row> rows = Rows(model);
  std::vector<std::string> names;
  for (const Row& row : rows) {
    if (row.name == name) return Make(row);
    names.push_back(row.name);
  }
  for (const Row& row : rows) {
    if (absl::StartsWith(name, row.name)) return Make(row);
  }
  if (model == CostModel::kHead && name == kWithoutShares) {
    return absl::InvalidArgumentError(
        absl::StrCat("hardware: torchao has no achievable shares for ", name,
                     ", and its bandwidth of it is 1000 times too high"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "hardware: torchao's model ", CostModelName(model), " does not know \"",
      name, "\"", names.empty() ? "" : "; it knows ",
      absl::StrJoin(names, ", ")));
}

}  // namespace octet::roofline
