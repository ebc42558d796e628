// SPDX-License-Identifier: Apache-2.0

// The time of one estimate: `bazel run //roofline/model:model_benchmark`.
#include "benchmark/benchmark.h"
#include "roofline/hardware.h"
#include "roofline/model/model.h"
#include "roofline/model/test_shapes.h"

namespace octet::roofline {
namespace {

void Run(benchmark::State& state, const ModelShape& shape) {
  const Hardware hardware = FindHardware("h200").value();
  ModelJob job;
  job.ranks = state.range(0);
  BoundOptions bound;
  bound.rates = Rates::kCalibrated;
  for (auto _ : state) {
    benchmark::DoNotOptimize(EstimateModel(hardware, shape, job, bound));
  }
}
void Llama8BModel(benchmark::State& state) { Run(state, Llama8B()); }
void Llama405BModel(benchmark::State& state) { Run(state, Llama405B()); }

BENCHMARK(Llama8BModel)->Arg(1)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK(Llama405BModel)->Arg(4096)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace octet::roofline
