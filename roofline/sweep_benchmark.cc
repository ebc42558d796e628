// SPDX-License-Identifier: Apache-2.0

// The sweep of PR #668: M, K and N each from 512 to 32768 by powers of two, 343
// shapes of one linear layer, forward and backward, formulas included. Goal:
// less than 50 ms.
#include <cstdint>

#include "benchmark/benchmark.h"
#include "roofline/bound.h"
#include "roofline/cost.h"
#include "roofline/hardware.h"

namespace octet::roofline {
namespace {

void Sweep(benchmark::State& state, CostModel cost_model) {
  const auto hardware = FindHardware("H200");
  LinearOptions options;
  options.model = cost_model;
  for (auto _ : state) {
    const auto model = LinearModel::Create(options, *hardware, BoundOptions());
    if (!model.ok()) state.SkipWithError("no model");
    double sum = 0;
    for (int64_t m = 512; m <= 32768; m *= 2) {
      for (int64_t k = 512; k <= 32768; k *= 2) {
        for (int64_t n = 512; n <= 32768; n *= 2) {
          sum += model->Bound({m, k, n})->seconds;
        }
      }
    }
    benchmark::DoNotOptimize(sum);
  }
  state.counters["shapes"] = 343;
}

BENCHMARK_CAPTURE(Sweep, octet, CostModel::kOctet)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Sweep, pr668, CostModel::kPr668)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Sweep, head, CostModel::kHead)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace octet::roofline
