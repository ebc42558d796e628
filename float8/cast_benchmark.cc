// SPDX-License-Identifier: Apache-2.0

// Casts on the CPU. `bytes` are those that the algorithm moves to and from
// memory: its `reads` of the input and one write of the output. A scale of a
// whole tensor or column is known only after all of the input, which a cast
// then reads twice; other tiles are read again from a core's cache. copy_% is
// the rate of these bytes in percent of a memory copy's that moves as many, on
// as many threads (OMP_NUM_THREADS).
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "float8/cast.h"
#include "testing/memory_copy.h"
#include "testing/random_tensor.h"

namespace octet::float8 {
namespace {

constexpr int64_t kCols = 4096;

Tensor Input(DType dtype, int64_t bytes) {
  const int64_t rows = bytes / SizeOf(dtype) / kCols;
  return testing::RandomTensor(dtype, Shape({rows, kCols}), 1).value();
}

using Clock = std::chrono::steady_clock;

// Times between `begin` and now, where all iterations lie.
void Report(benchmark::State& state, Clock::time_point begin, int64_t reads,
            int64_t bytes) {
  const std::chrono::duration<double> took = Clock::now() - begin;
  const double moved = static_cast<double>(state.iterations() * bytes);
  state.SetBytesProcessed(state.iterations() * bytes);
  state.counters["reads"] = static_cast<double>(reads);
  state.counters["copy_%"] =
      100.0 * moved / took.count() / testing::MemoryCopyRate(bytes);
}

int64_t Bytes(const Tensor& tensor) { return tensor.view().num_bytes(); }

void DynamicCast(benchmark::State& state, DType dtype, CastPlan plan,
                 int64_t bytes) {
  const Tensor in = Input(dtype, bytes);
  Quantized q;
  // Allocates, which the loop then does not.
  if (!Cast(Stream(), in, plan, &q).ok()) state.SkipWithError("cast");
  const Clock::time_point begin = Clock::now();
  for (auto _ : state) {
    if (!Cast(Stream(), in, plan, &q).ok()) state.SkipWithError("cast");
    benchmark::DoNotOptimize(q.data.as<uint8_t>());
    benchmark::ClobberMemory();
  }
  const bool twice = plan.granularity == Granularity::kTensor ||
                     plan.granularity == Granularity::kColumn;
  const int64_t reads = twice ? 2 : 1;
  Report(state, begin, reads, reads * Bytes(in) + Bytes(q.data));
}

void KnownScaleCast(benchmark::State& state, DType dtype, CastPlan plan,
                    int64_t bytes) {
  const Tensor in = Input(dtype, bytes);
  Quantized q;
  if (!Cast(Stream(), in, plan, &q).ok()) state.SkipWithError("cast");
  const Clock::time_point begin = Clock::now();
  for (auto _ : state) {
    if (!CastWithScale(Stream(), in, q.scale, plan, {}, &q).ok()) {
      state.SkipWithError("cast");
    }
    benchmark::DoNotOptimize(q.data.as<uint8_t>());
    benchmark::ClobberMemory();
  }
  Report(state, begin, 1, Bytes(in) + Bytes(q.data));
}

void DequantizeTo(benchmark::State& state, DType dtype, CastPlan plan,
                  int64_t bytes) {
  const Tensor in = Input(dtype, bytes);
  const Tensor out = Tensor::Allocate(dtype, in.shape()).value();
  Quantized q;
  if (!Cast(Stream(), in, plan, &q).ok()) state.SkipWithError("cast");
  // Touches the pages of `out`, which the loop then does not.
  if (!Dequantize(Stream(), q, out).ok()) state.SkipWithError("dequantize");
  const Clock::time_point begin = Clock::now();
  for (auto _ : state) {
    if (!Dequantize(Stream(), q, out).ok()) state.SkipWithError("dequantize");
    benchmark::DoNotOptimize(out.as<uint8_t>());
    benchmark::ClobberMemory();
  }
  Report(state, begin, 1, Bytes(out) + Bytes(q.data));
}

using Function = void (*)(benchmark::State&, DType, CastPlan, int64_t);

void Register(absl::string_view name, Function function, DType dtype,
              const CastPlan& plan, int64_t bytes) {
  const std::string full =
      absl::StrCat(name, "/", Name(dtype), "/", Name(plan.granularity), "/",
                   Name(plan.rounding), "/", bytes >> 20, "MiB");
  benchmark::RegisterBenchmark(full.c_str(), function, dtype, plan, bytes)
      ->UseRealTime();
}

// From the second-level cache to far beyond the last.
const bool kRegistered = [] {
  for (int64_t bytes :
       {int64_t{1} << 20, int64_t{16} << 20, int64_t{256} << 20}) {
    for (DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
      for (Granularity granularity :
           {Granularity::kTensor, Granularity::kRow, Granularity::kColumn,
            Granularity::kBlock1x128, Granularity::kBlock128x1,
            Granularity::kBlock128x128}) {
        CastPlan plan;
        plan.granularity = granularity;
        Register("cast", &DynamicCast, dtype, plan, bytes);
      }
      for (Granularity granularity :
           {Granularity::kBlock1x32, Granularity::kBlock32x1}) {
        CastPlan plan;
        plan.granularity = granularity;
        plan.rounding = ScaleRounding::kE8m0;
        Register("cast", &DynamicCast, dtype, plan, bytes);
      }
      Register("known_scale", &KnownScaleCast, dtype, CastPlan{}, bytes);
      Register("dequantize", &DequantizeTo, dtype, CastPlan{}, bytes);
    }
  }
  return true;
}();

}  // namespace
}  // namespace octet::float8
