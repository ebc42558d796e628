// SPDX-License-Identifier: Apache-2.0
#include "tools/gemm_sweep/calibrate.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/dtype.h"
#include "base/graph.h"
#include "base/status_macros.h"
#include "base/tensor.h"
#include "roofline/gemm_time.h"
#include "tools/gemm_sweep/measure.h"

namespace octet::tools {
namespace {

constexpr int kLaunches = 100;
constexpr absl::string_view kMeasured = "measured by gemm_sweep --calibrate";

struct Sizes {
  int64_t copy_bytes;
  int64_t large;  // sides of the product whose rate counts
  int64_t small;  // and of the one whose time is all start and end
};

Sizes SizesFor(const Stream& stream) {
  if (stream.device().kind == DeviceKind::kCpu) {
    return {int64_t{64} << 20, 512, 32};
  }
  return {int64_t{4} << 30, 8192, 256};
}

absl::StatusOr<double> CopyRate(const Stream& stream, int64_t bytes,
                                double seconds) {
  const Shape shape({bytes / 2});
  OCTET_ASSIGN_OR_RETURN(const Tensor from,
                         Tensor::Zeros(stream, DType::kBf16, shape));
  OCTET_ASSIGN_OR_RETURN(const Tensor to,
                         Tensor::Zeros(stream, DType::kBf16, shape));
  OCTET_ASSIGN_OR_RETURN(
      const std::vector<double> times,
      TimeInTurns(stream, {[&] { return Copy(stream, from, to); }}, seconds));
  return 2.0 * static_cast<double>(bytes) / times[0];
}

struct Launches {
  double single = 0, graph = 0;
};

// Fills of a few bytes stand for kernels.
absl::StatusOr<Launches> LaunchSeconds(const Stream& stream, double seconds) {
  OCTET_ASSIGN_OR_RETURN(const Tensor few,
                         Tensor::Zeros(stream, DType::kU8, Shape({16})));
  const auto fill = [&]() -> absl::Status {
    for (int i = 0; i < kLaunches; ++i) {
      OCTET_RETURN_IF_ERROR(FillZero(stream, few));
    }
    return absl::OkStatus();
  };
  OCTET_ASSIGN_OR_RETURN(const Graph graph, Graph::Capture(stream, fill));
  OCTET_ASSIGN_OR_RETURN(
      const std::vector<double> times,
      TimeInTurns(stream, {fill, [&] { return graph.Launch(stream); }},
                  seconds));
  return Launches{times[0] / kLaunches, times[1] / kLaunches};
}

double Flops(int64_t side) {
  const double s = static_cast<double>(side);
  return 2.0 * s * s * s;
}

absl::Status MeasureMode(const Stream& stream, const roofline::GemmMode& mode,
                         const Sizes& sizes, double seconds,
                         roofline::Hardware* hardware) {
  MeasureOptions options;
  options.seconds = seconds;
  const auto measure = [&](int64_t side) {
    return MeasureGemm(stream, {mode, side, side, side}, options);
  };
  const absl::StatusOr<MeasuredGemm> large = measure(sizes.large);
  if (absl::IsUnimplemented(large.status()) ||
      absl::IsInvalidArgument(large.status())) {
    return absl::OkStatus();  // the device does not have the mode
  }
  OCTET_RETURN_IF_ERROR(large.status());
  OCTET_ASSIGN_OR_RETURN(const MeasuredGemm small, measure(sizes.small));
  const std::string name(mode.name);
  const double rate = Flops(sizes.large) / large->seconds;
  hardware->gemm_flops[name] = rate;
  const double fixed = small.seconds - Flops(sizes.small) / rate;
  if (fixed > 0.0) hardware->gemm_fixed_seconds[name] = fixed;
  std::cerr << absl::StrFormat("%-11s %.4g TFLOP/s, %.3g us more\n", name,
                               rate / 1e12, std::max(fixed, 0.0) * 1e6);
  return absl::OkStatus();
}

// A card that no datasheet is built in of.
roofline::Hardware Unknown(absl::string_view name,
                           const roofline::Hardware& measured) {
  roofline::Hardware hardware;
  hardware.name = std::string(name);
  double bf16 = 0, fp8 = 0;
  for (const auto& [mode, rate] : measured.gemm_flops) {
    double& best = mode == "bf16" || mode == "f32" ? bf16 : fp8;
    best = std::max(best, rate);
  }
  hardware.bf16_flops = bf16;
  hardware.fp8_flops = fp8;
  hardware.memory_rate = measured.copy_rate;
  for (const char* field : {"bf16_flops", "fp8_flops", "memory_rate"}) {
    hardware.sources[field] =
        absl::StrCat(kMeasured, ": no datasheet of this device is built in");
  }
  return hardware;
}

}  // namespace

absl::StatusOr<roofline::Hardware> Calibrate(const Stream& stream,
                                             const std::string& description,
                                             const CalibrateOptions& options) {
  const Sizes sizes = SizesFor(stream);
  roofline::Hardware measured;
  OCTET_ASSIGN_OR_RETURN(measured.copy_rate,
                         CopyRate(stream, sizes.copy_bytes, options.seconds));
  std::cerr << absl::StrFormat("copy        %.4g GB/s\n",
                               measured.copy_rate / 1e9);
  OCTET_ASSIGN_OR_RETURN(const Launches launches,
                         LaunchSeconds(stream, options.seconds));
  for (const roofline::GemmMode& mode : roofline::GemmModes()) {
    if (mode.name == "f32") continue;  // no mode of the cost models
    OCTET_RETURN_IF_ERROR(
        MeasureMode(stream, mode, sizes, options.seconds, &measured));
  }
  const absl::string_view name =
      absl::string_view(description).substr(0, description.find(','));
  const absl::StatusOr<roofline::Hardware> known = roofline::FindHardware(name);
  roofline::Hardware hardware = known.ok() ? *known : Unknown(name, measured);
  hardware.name = std::string(name);
  hardware.aliases.clear();  // they would stand for the built-in entry
  hardware.copy_rate = measured.copy_rate;
  hardware.gemm_flops = measured.gemm_flops;
  hardware.gemm_fixed_seconds = measured.gemm_fixed_seconds;
  hardware.launch_seconds = launches.single;
  hardware.graph_launch_seconds = launches.graph;
  for (const char* field : {"copy_rate", "gemm_flops", "gemm_fixed_seconds",
                            "launch_seconds", "graph_launch_seconds"}) {
    hardware.sources[field] = std::string(kMeasured);
  }
  OCTET_RETURN_IF_ERROR(roofline::CheckHardware(hardware));
  return hardware;
}

}  // namespace octet::tools
