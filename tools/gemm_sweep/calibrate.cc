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
#include "float8/cast.h"
#include "float8/scaling.h"
#include "roofline/gemm_time.h"
#include "tools/gemm_sweep/measure.h"

namespace octet::tools {
namespace {

constexpr int kLaunches = 100;
constexpr absl::string_view kMeasured = "measured by gemm_sweep --calibrate";

// A linear layer of [hidden, hidden].
struct Layer {
  int64_t copy_bytes;
  int64_t tokens;  // of the products whose rate counts
  int64_t few;     // and of those whose time is mostly start and end
  int64_t hidden;
};

Layer LayerFor(const Stream& stream) {
  if (stream.device().kind == DeviceKind::kCpu) {
    return {int64_t{64} << 20, 512, 8, 512};
  }
  return {int64_t{4} << 30, 65536, 256, 4096};
}

// A layer's products that are in a mode, and how many are of that size.
struct Product {
  GemmCase gemm;
  double count;
};

std::vector<Product> ProductsOf(const roofline::GemmMode& mode, int64_t tokens,
                                int64_t hidden) {
  const Product output = {{mode, tokens, hidden, hidden}, 1};
  const Product grad_weight = {{mode, hidden, tokens, hidden}, 1};
  if (mode.name == "block1x128") return {grad_weight};
  if (mode.name == "block128" || mode.accumulation == "fast") return {output};
  // bf16 has the input's gradient besides, which is of the output's size.
  return {{output.gemm, mode.name == "bf16" ? 2.0 : 1.0}, grad_weight};
}

double Flops(const GemmCase& gemm) {
  return 2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.k) *
         static_cast<double>(gemm.n);
}

// Read and written, without scales.
double Bytes(const GemmCase& gemm) {
  const double element = gemm.mode.dtype == "bf16" ? 2 : 1;
  const double m = static_cast<double>(gemm.m);
  const double k = static_cast<double>(gemm.k);
  const double n = static_cast<double>(gemm.n);
  return element * (m * k + k * n) + 2 * m * n;
}

class Calibration {
 public:
  Calibration(const Stream& stream, double seconds)
      : stream_(stream), layer_(LayerFor(stream)), seconds_(seconds) {}

  absl::StatusOr<roofline::Hardware> Measure();

 private:
  absl::Status MeasureCopies();
  absl::Status MeasureLaunches();
  absl::Status MeasureMode(const roofline::GemmMode& mode);
  absl::StatusOr<std::vector<double>> Times(
      const std::vector<Product>& products);
  double Fixed(const std::vector<Product>& products,
               const std::vector<double>& times, double rate) const;

  const Stream& stream_;
  const Layer layer_;
  const double seconds_;
  roofline::Hardware measured_;
};

absl::Status Calibration::MeasureCopies() {
  const Shape shape({layer_.copy_bytes / 2});
  OCTET_ASSIGN_OR_RETURN(const Tensor from,
                         Tensor::Zeros(stream_, DType::kBf16, shape));
  OCTET_ASSIGN_OR_RETURN(const Tensor to,
                         Tensor::Zeros(stream_, DType::kBf16, shape));
  const auto copy = [&] { return Copy(stream_, from, to); };
  OCTET_ASSIGN_OR_RETURN(const std::vector<double> times,
                         TimeInTurns(stream_, {copy}, seconds_));
  measured_.copy_rate = 2.0 * static_cast<double>(layer_.copy_bytes) / times[0];
  std::cerr << absl::StrFormat("copy        %.4g GB/s\n",
                               measured_.copy_rate / 1e9);
  return absl::OkStatus();
}

// Casts of a few rows stand for kernels. (The smallest kernels follow one
// another two or three times as fast, but nothing of use is so small.)
absl::Status Calibration::MeasureLaunches() {
  OCTET_ASSIGN_OR_RETURN(
      const Tensor in,
      Tensor::Zeros(stream_, DType::kBf16, Shape({8, layer_.hidden})));
  float8::CastPlan plan;
  plan.granularity = float8::Granularity::kBlock1x128;
  float8::CastOptions options;
  options.layout = float8::CastLayout::kBoth;
  float8::Quantized out;
  const auto launches = [&]() -> absl::Status {
    for (int i = 0; i < kLaunches; ++i) {
      OCTET_RETURN_IF_ERROR(float8::Cast(stream_, in, plan, options, &out));
    }
    return absl::OkStatus();
  };
  OCTET_RETURN_IF_ERROR(launches());  // allocates
  OCTET_ASSIGN_OR_RETURN(const Graph graph, Graph::Capture(stream_, launches));
  OCTET_ASSIGN_OR_RETURN(
      const std::vector<double> times,
      TimeInTurns(stream_, {launches, [&] { return graph.Launch(stream_); }},
                  seconds_));
  measured_.launch_seconds = times[0] / kLaunches;
  measured_.graph_launch_seconds = times[1] / kLaunches;
  std::cerr << absl::StrFormat("launch      %.3g us, in a graph %.3g us\n",
                               measured_.launch_seconds * 1e6,
                               measured_.graph_launch_seconds * 1e6);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> Calibration::Times(
    const std::vector<Product>& products) {
  MeasureOptions options;
  options.seconds = seconds_;
  std::vector<double> times;
  for (const Product& product : products) {
    OCTET_ASSIGN_OR_RETURN(const MeasuredGemm measured,
                           MeasureGemm(stream_, product.gemm, options));
    times.push_back(measured.seconds);
  }
  return times;
}

// What the products take above their bound and a launch, on average.
double Calibration::Fixed(const std::vector<Product>& products,
                          const std::vector<double>& times, double rate) const {
  double sum = 0, count = 0;
  for (size_t i = 0; i < products.size(); ++i) {
    const GemmCase& gemm = products[i].gemm;
    const double bound =
        std::max(Flops(gemm) / rate, Bytes(gemm) / measured_.copy_rate);
    sum +=
        products[i].count * (times[i] - bound - measured_.graph_launch_seconds);
    count += products[i].count;
  }
  return std::max(0.0, sum / count);
}

// As roofline/bound.h has it, a product takes the longer of its FLOP at the
// rate and its bytes at a copy's, the fixed time, and a launch.
absl::Status Calibration::MeasureMode(const roofline::GemmMode& mode) {
  const auto large = ProductsOf(mode, layer_.tokens, layer_.hidden);
  const auto thin = ProductsOf(mode, layer_.few, layer_.hidden);
  const auto large_times = Times(large);
  if (absl::IsUnimplemented(large_times.status()) ||
      absl::IsInvalidArgument(large_times.status())) {
    return absl::OkStatus();  // the device does not have the mode
  }
  OCTET_RETURN_IF_ERROR(large_times.status());
  OCTET_ASSIGN_OR_RETURN(const auto thin_times, Times(thin));
  double flops = 0, seconds = 0, count = 0;
  for (size_t i = 0; i < large.size(); ++i) {
    flops += large[i].count * Flops(large[i].gemm);
    seconds += large[i].count * (*large_times)[i];
    count += large[i].count;
  }
  double rate = flops / seconds, fixed = 0;
  // Either is in the other's time, but little, so that this soon settles.
  for (int turn = 0; turn < 4; ++turn) {
    fixed = Fixed(thin, thin_times, rate);
    const double rest =
        seconds - count * (fixed + measured_.graph_launch_seconds);
    if (rest > seconds / 2) rate = flops / rest;
  }
  const std::string name(mode.name);
  measured_.gemm_flops[name] = rate;
  if (fixed > 0.0) measured_.gemm_fixed_seconds[name] = fixed;
  std::cerr << absl::StrFormat("%-11s %.4g TFLOP/s, %.3g us more\n", name,
                               rate / 1e12, fixed * 1e6);
  return absl::OkStatus();
}

absl::StatusOr<roofline::Hardware> Calibration::Measure() {
  OCTET_RETURN_IF_ERROR(MeasureCopies());
  OCTET_RETURN_IF_ERROR(MeasureLaunches());
  for (const roofline::GemmMode& mode : roofline::GemmModes()) {
    if (mode.name == "f32") continue;  // no mode of the cost models
    OCTET_RETURN_IF_ERROR(MeasureMode(mode));
  }
  return measured_;
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
  Calibration calibration(stream, options.seconds);
  OCTET_ASSIGN_OR_RETURN(const roofline::Hardware measured,
                         calibration.Measure());
  const absl::string_view name =
      absl::string_view(description).substr(0, description.find(','));
  const absl::StatusOr<roofline::Hardware> known = roofline::FindHardware(name);
  roofline::Hardware hardware = known.ok() ? *known : Unknown(name, measured);
  hardware.name = std::string(name);
  hardware.aliases.clear();  // they would stand for the built-in entry
  hardware.copy_rate = measured.copy_rate;
  hardware.gemm_flops = measured.gemm_flops;
  hardware.gemm_fixed_seconds = measured.gemm_fixed_seconds;
  hardware.launch_seconds = measured.launch_seconds;
  hardware.graph_launch_seconds = measured.graph_launch_seconds;
  for (const char* field : {"copy_rate", "gemm_flops", "gemm_fixed_seconds",
                            "launch_seconds", "graph_launch_seconds"}) {
    hardware.sources[field] = std::string(kMeasured);
  }
  OCTET_RETURN_IF_ERROR(roofline::CheckHardware(hardware));
  return hardware;
}

}  // namespace octet::tools
