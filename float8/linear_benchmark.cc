// SPDX-License-Identifier: Apache-2.0

// One linear layer, forward and backward, with all casts: x, w and g are cast
// anew in each call, as PyTorch's layer does; "cached" leaves w's cast out.
//
//   wall_us    of the calls on an idle stream, with the time to queue them
//   graph_us   of the same as one graph
//   device_us  the device's time alone; cached_us: without w's cast
//   gemms_us   the device's time for the three multiplications alone
//   floor_us   gemms_us, and 6 bytes for each element that is cast at the rate
//              of a copy: read for the amax, read again, written twice
//   x_floor    device_us / floor_us
//
// $OCTET_TEST_DEVICE chooses the device (default: a GPU if there is one).
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "benchmark/benchmark.h"
#include "float8/gemm.h"
#include "float8/linear.h"
#include "float8/recipe.h"
#include "testing/benchmark_device.h"

namespace octet::float8 {
namespace {

struct Size {
  int64_t m, k, n;
};

struct Layer {
  Stream stream;
  Recipe recipe;
  Tensor x, w, g, y, dx, dw;
  LinearOperand x_forms, w_forms, g_forms;
  DelayedScale x_history, w_history, g_history;

  absl::Status Allocate(const Size& s) {
    const auto fill = [&](int64_t rows, int64_t cols, uint64_t seed,
                          Tensor* out) -> absl::Status {
      OCTET_ASSIGN_OR_RETURN(
          *out, testing::BenchmarkTensor(stream, DType::kBf16,
                                         Shape({rows, cols}), seed));
      return absl::OkStatus();
    };
    OCTET_RETURN_IF_ERROR(fill(s.m, s.k, 1, &x));
    OCTET_RETURN_IF_ERROR(fill(s.n, s.k, 2, &w));
    OCTET_RETURN_IF_ERROR(fill(s.m, s.n, 3, &g));
    OCTET_RETURN_IF_ERROR(fill(s.m, s.n, 4, &y));
    OCTET_RETURN_IF_ERROR(fill(s.m, s.k, 5, &dx));
    return fill(s.n, s.k, 6, &dw);
  }

  absl::Status PrepareW() {
    return PrepareWeight(stream, recipe, {w, {}, &w_history}, &w_forms);
  }
  absl::Status ForwardBackward() {
    OCTET_RETURN_IF_ERROR(
        PrepareInput(stream, recipe, {x, {}, &x_history}, &x_forms));
    OCTET_RETURN_IF_ERROR(
        LinearForward(stream, recipe, x_forms, w_forms, TensorView(), y));
    LinearGradients gradients;
    gradients.dx = dx;
    gradients.dw = dw;
    gradients.dw_mode = GradientMode::kOverwrite;
    return LinearBackward(stream, recipe, x_forms, w_forms, {g, {}, &g_history},
                          &g_forms, gradients);
  }
  absl::Status All() {
    OCTET_RETURN_IF_ERROR(PrepareW());
    return ForwardBackward();
  }

  // The multiplications of operands that All has cast.
  absl::StatusOr<double> GemmSeconds() {
    const auto operand = [](const OperandPlan& plan, const LinearOperand& forms,
                            const Quantized& form, Transpose transpose) {
      return plan.is_float8 ? OperandOf(form, transpose)
                            : OperandOf(forms.value, transpose);
    };
    const auto second = [](const LinearOperand& forms) -> const Quantized& {
      return forms.second.scale.view().present() ? forms.second : forms.first;
    };
    struct Product {
      GemmOperand a, b;
      bool fast;
      TensorView out;
    };
    const GemmPlan& f = recipe.forward;
    const GemmPlan& d = recipe.dgrad;
    const GemmPlan& v = recipe.wgrad;
    double total = 0.0;
    for (const Product& p :
         {Product{operand(f.a, x_forms, x_forms.first, Transpose::kNo),
                  operand(f.b, w_forms, w_forms.first, Transpose::kYes),
                  f.fast_accumulation, y},
          Product{operand(d.a, g_forms, g_forms.first, Transpose::kNo),
                  operand(d.b, w_forms, second(w_forms), Transpose::kNo),
                  d.fast_accumulation, dx},
          Product{operand(v.a, g_forms, second(g_forms), Transpose::kYes),
                  operand(v.b, x_forms, second(x_forms), Transpose::kNo),
                  v.fast_accumulation, dw}}) {
      GemmOptions options;
      options.accumulation =
          p.fast ? Accumulation::kFast : Accumulation::kPrecise;
      OCTET_ASSIGN_OR_RETURN(const double seconds,
                             testing::SecondsPerLaunch(stream, [&] {
                               return Gemm(stream, p.a, p.b, options, p.out);
                             }));
      total += seconds;
    }
    return total;
  }
};

absl::Status Measure(const Stream& stream, const std::string& name,
                     const Size& s, benchmark::State& state) {
  Layer layer;
  layer.stream = stream;
  OCTET_ASSIGN_OR_RETURN(layer.recipe, NamedRecipe(name));
  OCTET_RETURN_IF_ERROR(layer.Allocate(s));
  const auto all = [&] { return layer.All(); };
  OCTET_ASSIGN_OR_RETURN(const double wall,
                         testing::SecondsPerCall(stream, all));
  OCTET_ASSIGN_OR_RETURN(const double graph,
                         testing::SecondsPerLaunch(stream, all));
  OCTET_ASSIGN_OR_RETURN(const double device,
                         testing::DeviceSeconds(stream, all));
  OCTET_ASSIGN_OR_RETURN(
      const double cached,
      testing::DeviceSeconds(stream, [&] { return layer.ForwardBackward(); }));
  OCTET_ASSIGN_OR_RETURN(const double gemms, layer.GemmSeconds());
  const double elements =
      UsesFloat8(layer.recipe)
          ? static_cast<double>(s.m * s.k + s.n * s.k + s.m * s.n)
          : 0.0;
  OCTET_ASSIGN_OR_RETURN(const double copy,
                         testing::CopyRate(stream, layer.x.view().num_bytes()));
  const double floor = gemms + 6.0 * elements / copy;
  for (auto _ : state) state.SetIterationTime(wall);
  const double flops = 6.0 * static_cast<double>(s.m) *
                       static_cast<double>(s.k) * static_cast<double>(s.n);
  state.counters["wall_us"] = wall * 1e6;
  state.counters["graph_us"] = graph * 1e6;
  state.counters["device_us"] = device * 1e6;
  state.counters["cached_us"] = cached * 1e6;
  state.counters["gemms_us"] = gemms * 1e6;
  state.counters["floor_us"] = floor * 1e6;
  state.counters["x_floor"] = device / floor;
  state.counters["TFLOP/s"] = flops / device / 1e12;
  return absl::OkStatus();
}

void Register(const Stream& stream) {
  std::vector<Size> sizes = {{16, 4096, 4096},   {256, 4096, 4096},
                             {4096, 4096, 4096}, {65536, 4096, 4096},
                             {8192, 4096, 6144}, {8192, 4096, 28672},
                             {8192, 14336, 4096}};
  if (stream.device().kind == DeviceKind::kCpu) sizes = {{256, 512, 1024}};
  for (const Size& size : sizes) {
    for (const std::string& recipe : RecipeNames()) {
      if (recipe == "mxfp8" && stream.device().kind != DeviceKind::kCpu) {
        continue;  // no multiplication on Hopper
      }
      benchmark::RegisterBenchmark(
          absl::StrCat(recipe, "/M", size.m, "/K", size.k, "/N", size.n)
              .c_str(),
          [stream, recipe, size](benchmark::State& state) {
            const absl::Status status = Measure(stream, recipe, size, state);
            if (!status.ok()) {
              state.SkipWithError(std::string(status.message()).c_str());
            }
          })
          ->Iterations(1)
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace
}  // namespace octet::float8

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const absl::StatusOr<octet::Stream> stream =
      octet::testing::BenchmarkStream();
  if (!stream.ok()) {
    std::fprintf(stderr, "%s\n",
                 std::string(stream.status().message()).c_str());
    return 1;
  }
  octet::float8::Register(*stream);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
