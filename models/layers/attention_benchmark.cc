// SPDX-License-Identifier: Apache-2.0

// Attention of one sequence as Llama 3 8B has it, forward and backward; in f32,
// which on a GPU is the plain kernel's, for one length. $OCTET_TEST_DEVICE
// chooses the device.
//
// A call is a quarter of a graph of four. TFLOP/s counts what the causal mask
// leaves, half of the square of scores: forward 2 products of length^2 / 2
// scores by head_dim, backward 5, at 2 operations each. Kernels skip the other
// half, but for tiles that the diagonal cuts.
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "models/layers/attention.h"
#include "testing/benchmark_device.h"

namespace octet::models {
namespace {

constexpr int kCalls = 4;
constexpr int64_t kHeads = 32, kKvHeads = 8, kHeadDim = 128;

const Stream& TheStream() {
  static const Stream stream = testing::BenchmarkStream().value();
  return stream;
}

Tensor Random(DType dtype, const Shape& shape, uint64_t seed) {
  return testing::BenchmarkTensor(TheStream(), dtype, shape, seed).value();
}

void Time(benchmark::State& state, double flop,
          const std::function<absl::Status()>& work) {
  const auto calls = [&] {
    absl::Status status;
    for (int i = 0; i < kCalls && status.ok(); ++i) status = work();
    return status;
  };
  for (auto _ : state) {
    const absl::StatusOr<double> seconds =
        testing::SecondsPerLaunch(TheStream(), calls);
    if (!seconds.ok()) {
      state.SkipWithError(std::string(seconds.status().message()).c_str());
      return;
    }
    const double call = *seconds / kCalls;
    state.SetIterationTime(call);
    state.counters["us"] = call * 1e6;
    state.counters["TFLOP/s"] = flop / call / 1e12;
  }
}

enum class Pass { kForward, kDeterministic, kDeterministicWhole, kAnyOrder };

void Attention(benchmark::State& state, int64_t length, DType dtype,
               Pass pass) {
  const Shape queries({1, length, kHeads, kHeadDim});
  const Shape keys({1, length, kKvHeads, kHeadDim});
  const Tensor q = Random(dtype, queries, 1), k = Random(dtype, keys, 2),
               v = Random(dtype, keys, 3), grad_o = Random(dtype, queries, 4),
               o = Random(dtype, queries, 5), dq = Random(dtype, queries, 6),
               dk = Random(dtype, keys, 7), dv = Random(dtype, keys, 8);
  const Tensor lse =
      Tensor::Zeros(TheStream(), DType::kF32, Shape({1, kHeads, length}))
          .value();
  const AttentionForwardArgs forward = {q, k, v, o, lse};
  const double product = static_cast<double>(length) *
                         static_cast<double>(length) * kHeads * kHeadDim;
  const auto run_forward = [&] {
    return AttentionForward(TheStream(), forward);
  };
  if (pass == Pass::kForward) return Time(state, 2 * product, run_forward);
  const absl::Status status = run_forward();
  if (!status.ok()) {
    return state.SkipWithError(std::string(status.message()).c_str());
  }
  AttentionBackwardArgs args = {forward, grad_o, dq, dk, dv};
  args.deterministic = pass != Pass::kAnyOrder;
  if (pass == Pass::kDeterministicWhole) args.scratch_budget = int64_t{1} << 40;
  Time(state, 5 * product,
       [&] { return AttentionBackward(TheStream(), args); });
}

void Register(const char* name, int64_t length, DType dtype, Pass pass) {
  benchmark::RegisterBenchmark(
      absl::StrCat("attention/", name, "/", Name(dtype), "/", length, "x",
                   kHeads, "/", kKvHeads, "x", kHeadDim)
          .c_str(),
      &Attention, length, dtype, pass)
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMicrosecond);
}

const bool kRegistered = [] {
  for (const int64_t length : {2048, 4096, 8192, 16384}) {
    Register("forward", length, DType::kBf16, Pass::kForward);
    Register("backward/deterministic", length, DType::kBf16,
             Pass::kDeterministic);
    // All heads at once, whatever the scratch.
    Register("backward/deterministic_whole", length, DType::kBf16,
             Pass::kDeterministicWhole);
    Register("backward/any_order", length, DType::kBf16, Pass::kAnyOrder);
  }
  Register("forward", 2048, DType::kF32, Pass::kForward);
  Register("backward", 2048, DType::kF32, Pass::kDeterministic);
  return true;
}();

}  // namespace
}  // namespace octet::models
