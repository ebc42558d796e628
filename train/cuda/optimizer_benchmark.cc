// SPDX-License-Identifier: Apache-2.0

// AdamW and the sum of squares over a billion parameters in a few tensors, by
// the dtypes of their states. $OCTET_TEST_DEVICE chooses the device.
//
// GB/s counts what must be read and written; copy_% is that in percent of a
// device copy's bytes read and written, measured in the same run.
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "testing/benchmark_device.h"
#include "testing/copy_report.h"
#include "train/adamw.h"
#include "train/clip.h"

namespace octet::train {
namespace {

constexpr int64_t kTensors = 8;
constexpr int64_t kElements = int64_t{1} << 27;  // of each

const Stream& TheStream() {
  static const Stream stream = testing::BenchmarkStream().value();
  return stream;
}

// On the CPU a hundredth of it.
int64_t Elements() {
  return TheStream().device().kind == DeviceKind::kCpu ? kElements / 128
                                                       : kElements;
}

void Time(benchmark::State& state, double bytes_each,
          const std::function<absl::Status()>& work) {
  const double bytes = bytes_each * static_cast<double>(kTensors * Elements());
  for (auto _ : state) {
    const absl::StatusOr<double> seconds =
        testing::SecondsPerCall(TheStream(), work, /*min_calls=*/5);
    if (!testing::ReportBesideCopy(TheStream(), bytes, seconds, &state)) return;
    state.counters["ms"] = *seconds * 1e3;
  }
}

struct Dtypes {
  DType master, gradient, moments;
  bool has_weight;
};

// As many tensors of random values; all but the first are copies on the device,
// which are quickly made.
std::vector<Tensor> Copies(DType dtype, uint64_t seed) {
  const Shape shape({Elements()});
  std::vector<Tensor> tensors;
  tensors.push_back(
      testing::BenchmarkTensor(TheStream(), dtype, shape, seed).value());
  while (static_cast<int64_t>(tensors.size()) < kTensors) {
    tensors.push_back(
        Tensor::Allocate(dtype, shape, TheStream().device()).value());
    if (!Copy(TheStream(), tensors[0], tensors.back()).ok()) std::abort();
  }
  return tensors;
}

struct Parameters {
  explicit Parameters(const Dtypes& d) : tensors(kTensors) {
    Add(Copies(d.master, 1), &AdamWTensors::master);
    Add(Copies(d.gradient, 2), &AdamWTensors::gradient);
    Add(Copies(d.moments, 3), &AdamWTensors::m);
    AddZeros(d.moments, Shape({Elements()}), &AdamWTensors::v);
    if (d.has_weight) {
      AddZeros(DType::kBf16, Shape({Elements()}), &AdamWTensors::weight);
    }
    AddZeros(DType::kF32, Shape({1, 1}), &AdamWTensors::amax);
    for (uint64_t i = 0; i < kTensors; ++i) tensors[i].rounding_key = i;
  }

  void Add(std::vector<Tensor> all, TensorView AdamWTensors::*member) {
    for (int64_t i = 0; i < kTensors; ++i) {
      tensors[i].*member = all[i].view();
      memory.push_back(std::move(all[i]));
    }
  }
  void AddZeros(DType dtype, const Shape& shape,
                TensorView AdamWTensors::*member) {
    std::vector<Tensor> all;
    for (int64_t i = 0; i < kTensors; ++i) {
      all.push_back(Tensor::Zeros(TheStream(), dtype, shape).value());
    }
    Add(std::move(all), member);
  }

  std::vector<Tensor> memory;
  std::vector<AdamWTensors> tensors;
};

void RunAdamW(benchmark::State& state, Dtypes d) {
  const Parameters parameters(d);
  AdamWScalars s = {1.0f, 0.99999f, 0.1f, 0.95f, 0.05f, 1e-5f, 0.5f, 1e-8f};
  const double bytes =
      2.0 * static_cast<double>(SizeOf(d.master) + 2 * SizeOf(d.moments)) +
      static_cast<double>(SizeOf(d.gradient)) + (d.has_weight ? 2.0 : 0.0);
  Time(state, bytes, [&] {
    ++s.step;
    const auto kernel = AdamWSlot().Get(TheStream().device());
    return kernel.ok() ? (*kernel)(TheStream(), s, parameters.tensors)
                       : kernel.status();
  });
}

void RunSumOfSquares(benchmark::State& state, DType dtype) {
  const std::vector<Tensor> memory = Copies(dtype, 1);
  std::vector<TensorView> tensors;
  for (const Tensor& tensor : memory) tensors.push_back(tensor.view());
  const Tensor out =
      Tensor::Zeros(TheStream(), DType::kF64, Shape({1})).value();
  Time(state, static_cast<double>(SizeOf(dtype)),
       [&] { return SumOfSquares(TheStream(), tensors, out); });
}

template <typename Run, typename Argument>
void Register(const char* name, Run run, Argument argument) {
  benchmark::RegisterBenchmark(name, run, argument)
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

const bool kRegistered = [] {
  constexpr DType kF32 = DType::kF32, kBf16 = DType::kBf16;
  using D = Dtypes;
  Register("adamw/f32_states/f32_gradient", &RunAdamW,
           D{kF32, kF32, kF32, false});
  Register("adamw/f32_states/f32_gradient/weight", &RunAdamW,
           D{kF32, kF32, kF32, true});
  Register("adamw/f32_states/bf16_gradient/weight", &RunAdamW,
           D{kF32, kBf16, kF32, true});
  Register("adamw/f32_master/bf16_moments/bf16_gradient/weight", &RunAdamW,
           D{kF32, kBf16, kBf16, true});
  Register("adamw/bf16_states/f32_gradient", &RunAdamW,
           D{kBf16, kF32, kBf16, false});
  Register("adamw/bf16_states/bf16_gradient", &RunAdamW,
           D{kBf16, kBf16, kBf16, false});
  Register("sum_of_squares/f32", &RunSumOfSquares, kF32);
  Register("sum_of_squares/bf16", &RunSumOfSquares, kBf16);
  return true;
}();

}  // namespace
}  // namespace octet::train
