// SPDX-License-Identifier: Apache-2.0

#include "roofline/bound.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace octet::roofline {
namespace {

bool IsGemm(const KernelCost& kernel) { return kernel.part == "gemm"; }

int64_t SizeOf(Variable variable, const Sizes& sizes) {
  switch (variable) {
    case Variable::kM:
      return sizes.m;
    case Variable::kK:
      return sizes.k;
    case Variable::kN:
      return sizes.n;
  }
  return 0;
}

double LaunchSeconds(const Hardware& hardware, const BoundOptions& options) {
  return options.launch == Launch::kGraph ? hardware.graph_launch_seconds
                                          : hardware.launch_seconds;
}

double MemoryRate(const Hardware& hardware, const BoundOptions& options) {
  const bool measured =
      options.rates == Rates::kCalibrated && hardware.copy_rate > 0;
  return measured ? hardware.copy_rate
                  : hardware.memory_rate * hardware.memory_share;
}

absl::StatusOr<double> FlopRate(absl::string_view mode,
                                const Hardware& hardware,
                                const BoundOptions& options) {
  if (options.rates == Rates::kCalibrated) {
    const auto measured =
        hardware.gemm_flops.find(CalibratedMode(hardware, mode));
    if (measured != hardware.gemm_flops.end()) return measured->second;
  }
  if (mode == "bf16") return hardware.bf16_flops * hardware.bf16_share;
  const bool fp4 = absl::StartsWith(mode, "mxfp4");
  const double peak = fp4 ? hardware.fp4_flops : hardware.fp8_flops;
  if (peak <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        hardware.name, " has no ", fp4 ? "4-bit floating point" : "float8",
        ": choose --recipe=bf16 or another card"));
  }
  return peak * hardware.fp8_share;
}

double FixedSeconds(const std::string& mode, const Hardware& hardware,
                    const BoundOptions& options) {
  if (options.rates != Rates::kCalibrated) return 0;
  const auto found =
      hardware.gemm_fixed_seconds.find(CalibratedMode(hardware, mode));
  return found == hardware.gemm_fixed_seconds.end() ? 0 : found->second;
}

// Inside a node each rank receives all others' parts over its link; between
// nodes a node's GPUs share what the node lacks.
absl::StatusOr<double> WireSeconds(const KernelCost& kernel, double bytes,
                                   const Hardware& hardware) {
  if (bytes <= 0 || kernel.ranks <= 1) return 0.0;
  const auto needs = [&](absl::string_view field) {
    return absl::InvalidArgumentError(
        absl::StrCat(hardware.name, " has no ", field, ", which ", kernel.ranks,
                     " ranks need: add it to the card's file"));
  };
  if (hardware.gpus_per_node > 1 && hardware.nvlink_rate <= 0) {
    return needs("nvlink_gigabytes_per_second");
  }
  const int64_t node = std::min<int64_t>(hardware.gpus_per_node, kernel.ranks);
  double seconds =
      node > 1 ? bytes / (hardware.nvlink_rate * hardware.link_share) : 0;
  if (kernel.ranks > node) {
    if (hardware.network_rate <= 0)
      return needs("network_gigabytes_per_second");
    const double ranks = static_cast<double>(kernel.ranks);
    const double local = static_cast<double>(node);
    const double whole = bytes * ranks / (ranks - 1);
    const double lacking = whole * (1 - local / ranks);
    seconds =
        std::max(seconds, lacking / local /
                              (hardware.network_rate * hardware.link_share));
  }
  return seconds;
}

Limit Longest(const KernelBound& b) {
  const double longest = std::max(
      {b.memory_seconds, b.compute_seconds, b.wire_seconds, b.launch_seconds});
  if (longest == b.compute_seconds) return Limit::kCompute;
  if (longest == b.memory_seconds) return Limit::kMemory;
  if (longest == b.wire_seconds) return Limit::kWire;
  return Limit::kLaunch;
}

void Times(double count, KernelBound* b) {
  b->seconds *= count;
  b->memory_seconds *= count;
  b->compute_seconds *= count;
  b->wire_seconds *= count;
  b->launch_seconds *= count;
}

// Of what has been checked.
absl::StatusOr<KernelBound> Bound(const KernelCost& kernel, const Sizes& sizes,
                                  CostModel model, const Hardware& hardware,
                                  const BoundOptions& options) {
  KernelBound b;
  const bool gemm = IsGemm(kernel);
  b.launch_seconds = kernel.launches * LaunchSeconds(hardware, options);
  if (!gemm || model != CostModel::kPr668) {
    b.memory_seconds =
        kernel.bytes.Evaluate(sizes) / MemoryRate(hardware, options);
  }
  if (gemm && options.gemm_seconds) {
    OCTET_ASSIGN_OR_RETURN(
        b.seconds,
        options.gemm_seconds(kernel.mode, SizeOf(kernel.gemm[0], sizes),
                             SizeOf(kernel.gemm[1], sizes),
                             SizeOf(kernel.gemm[2], sizes)));
    b.compute_seconds = b.seconds;
    b.limit = Limit::kCompute;
    Times(kernel.count, &b);
    return b;
  }
  double fixed = 0;
  if (gemm) {
    OCTET_ASSIGN_OR_RETURN(const double rate,
                           FlopRate(kernel.mode, hardware, options));
    b.compute_seconds = kernel.flops.Evaluate(sizes) / rate;
    fixed = FixedSeconds(kernel.mode, hardware, options);
  }
  OCTET_ASSIGN_OR_RETURN(
      b.wire_seconds,
      WireSeconds(kernel, kernel.wire_bytes.Evaluate(sizes), hardware));
  const double work =
      std::max({b.memory_seconds, b.compute_seconds, b.wire_seconds});
  const bool floor = model == CostModel::kPr1789 || model == CostModel::kHead;
  b.seconds = floor ? std::max(work, b.launch_seconds)
                    : work + fixed + b.launch_seconds;
  // A product's fixed time is no use of memory or arithmetic.
  b.launch_seconds += fixed;
  b.limit = Longest(b);
  Times(kernel.count, &b);
  return b;
}

// Of the kernels of one pass.
struct PassSeconds {
  double compute = 0;
  double communication = 0;
};

struct Sum {
  double gemm = 0, overhead = 0, other = 0;
  std::array<PassSeconds, 2> passes;
  std::array<double, 4> by_limit = {};

  double Communication() const {
    return passes[0].communication + passes[1].communication;
  }
  double Exposed(bool overlap) const {
    if (!overlap) return Communication();
    double exposed = 0;
    for (const PassSeconds& pass : passes) {
      exposed += std::max(0.0, pass.communication - pass.compute);
    }
    return exposed;
  }
};

absl::StatusOr<Sum> SumKernels(const std::vector<KernelCost>& kernels,
                               const Sizes& sizes, CostModel model,
                               const Hardware& hardware,
                               const BoundOptions& options) {
  Sum sum;
  for (const KernelCost& kernel : kernels) {
    OCTET_ASSIGN_OR_RETURN(const KernelBound b,
                           Bound(kernel, sizes, model, hardware, options));
    PassSeconds& pass = sum.passes[kernel.pass == Pass::kForward ? 0 : 1];
    sum.by_limit[static_cast<int>(b.limit)] += b.seconds;
    if (kernel.part == "collective") {
      pass.communication += b.seconds;
      continue;
    }
    pass.compute += b.seconds;
    const bool overhead = kernel.part == "cast" || kernel.part == "amax";
    (IsGemm(kernel) ? sum.gemm
     : overhead     ? sum.overhead
                    : sum.other) += b.seconds;
  }
  return sum;
}

}  // namespace

absl::string_view LimitName(Limit limit) {
  switch (limit) {
    case Limit::kMemory:
      return "memory";
    case Limit::kCompute:
      return "compute";
    case Limit::kWire:
      return "wire";
    case Limit::kLaunch:
      return "launch";
  }
  return "";
}

absl::StatusOr<KernelBound> BoundKernel(const KernelCost& kernel,
                                        const Sizes& sizes, CostModel model,
                                        const Hardware& hardware,
                                        const BoundOptions& options) {
  OCTET_RETURN_IF_ERROR(CheckSizes(sizes));
  OCTET_RETURN_IF_ERROR(CheckHardware(hardware));
  return Bound(kernel, sizes, model, hardware, options);
}

absl::StatusOr<LinearModel> LinearModel::Create(const LinearOptions& options,
                                                const Hardware& hardware,
                                                const BoundOptions& bound) {
  OCTET_RETURN_IF_ERROR(CheckHardware(hardware));
  LinearModel model;
  model.model_ = options.model;
  model.hardware_ = hardware;
  model.options_ = bound;
  OCTET_ASSIGN_OR_RETURN(model.kernels_, LinearCost(options));
  LinearOptions plain = options;
  plain.recipe = "bf16";
  if (plain.gather == Gather::kFp8) plain.gather = Gather::kBf16;
  OCTET_ASSIGN_OR_RETURN(model.bf16_, LinearCost(plain));
  // Whether there are rates for all of it; what is measured has its own errors.
  BoundOptions by_rates = bound;
  by_rates.gemm_seconds = nullptr;
  for (const auto* kernels : {&model.kernels_, &model.bf16_}) {
    OCTET_RETURN_IF_ERROR(
        SumKernels(*kernels, {1, 1, 1}, options.model, hardware, by_rates)
            .status());
  }
  return model;
}

absl::StatusOr<LinearBound> LinearModel::Bound(const Sizes& sizes) const {
  OCTET_RETURN_IF_ERROR(CheckSizes(sizes));
  OCTET_ASSIGN_OR_RETURN(const Sum plain,
                         SumKernels(bf16_, sizes, model_, hardware_, options_));
  OCTET_ASSIGN_OR_RETURN(
      const Sum sum, SumKernels(kernels_, sizes, model_, hardware_, options_));
  const bool overlap = options_.overlap_communication;
  LinearBound b;
  b.bf16_gemm_seconds = plain.gemm;
  b.bf16_seconds = plain.gemm + plain.other + plain.Exposed(overlap);
  b.gemm_seconds = sum.gemm;
  b.overhead_seconds = sum.overhead;
  b.other_seconds = sum.other;
  b.communication_seconds = sum.Communication();
  b.exposed_seconds = sum.Exposed(overlap);
  b.seconds = sum.gemm + sum.overhead + sum.other + b.exposed_seconds;
  b.speedup = b.bf16_seconds / b.seconds;
  b.limit = static_cast<Limit>(
      std::max_element(sum.by_limit.begin(), sum.by_limit.end()) -
      sum.by_limit.begin());
  return b;
}

absl::StatusOr<std::vector<KernelBound>> LinearModel::BoundKernels(
    const Sizes& sizes) const {
  OCTET_RETURN_IF_ERROR(CheckSizes(sizes));
  std::vector<KernelBound> bounds;
  for (const KernelCost& kernel : kernels_) {
    OCTET_ASSIGN_OR_RETURN(
        bounds.emplace_back(),
        roofline::Bound(kernel, sizes, model_, hardware_, options_));
  }
  return bounds;
}

absl::StatusOr<Polynomial> LinearModel::GemmSeconds() const {
  Polynomial sum;
  for (const KernelCost& kernel : kernels_) {
    if (!IsGemm(kernel)) continue;
    OCTET_ASSIGN_OR_RETURN(const double rate,
                           FlopRate(kernel.mode, hardware_, options_));
    sum += kernel.count * kernel.flops / rate;
  }
  return sum;
}

Polynomial LinearModel::OverheadSeconds() const {
  Polynomial bytes;
  double launches = 0;
  for (const KernelCost& kernel : kernels_) {
    if (kernel.part != "cast" && kernel.part != "amax") continue;
    bytes += kernel.count * kernel.bytes;
    launches += kernel.count * kernel.launches;
  }
  return bytes / MemoryRate(hardware_, options_) +
         launches * LaunchSeconds(hardware_, options_);
}

}  // namespace octet::roofline
