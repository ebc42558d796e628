// SPDX-License-Identifier: Apache-2.0

#include "train/plan/mfu.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

namespace octet::train {
namespace {

struct KnownGpu {
  const char* name;
  double tflops;
};

// The first whose name the description contains; longer names come first.
constexpr KnownGpu kGpus[] = {
    {"H100 PCIe", 756},   // H100 data sheet: 1513 with sparsity
    {"H100 NVL", 835.5},  // H100 NVL data sheet: 1671 with sparsity
    {"H100", 989.4},      // SXM: 132 SMs x 4096 FLOP x 1.83 GHz
    {"H200 NVL", 835.5},  // H200 data sheet: 1671 with sparsity
    {"H200", 989.4},      // SXM: the H100's chip at the same clock
    {" B200", 2250},      // HGX B200 data sheet: 4500 with sparsity
    {"A100", 312},        // A100 data sheet
};

}  // namespace

std::optional<double> KnownPeakTflops(absl::string_view description) {
  for (const KnownGpu& gpu : kGpus) {
    if (absl::StrContains(description, gpu.name)) return gpu.tflops;
  }
  return std::nullopt;
}

std::optional<double> PeakTflops(double configured,
                                 absl::string_view description) {
  return configured > 0 ? configured : KnownPeakTflops(description);
}

std::optional<double> Mfu(double tflops, std::optional<double> peak_tflops) {
  if (!peak_tflops) return std::nullopt;
  return tflops / *peak_tflops;
}

std::string DescribeFlops(double flops_per_token,
                          std::optional<double> peak_tflops) {
  const bool is_billions = flops_per_token >= 1e9;
  return absl::StrFormat(
      "%.1f %s a token: 6 (N - N_embedding) + 12 L H head_dim T (torchtitan's; "
      "causal half not discounted); %s",
      flops_per_token / (is_billions ? 1e9 : 1e6), is_billions ? "G" : "M",
      peak_tflops
          ? absl::StrFormat("MFU of %g TFLOP/s (dense bf16)", *peak_tflops)
          : "MFU n/a: no peak is known (--metrics.peak_tflops)");
}

}  // namespace octet::train
