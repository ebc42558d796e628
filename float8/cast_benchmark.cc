// SPDX-License-Identifier: Apache-2.0

// Casts on the CPU. `bytes` are those of the input read once and the output
// written once; copy_% is their rate against a memory copy that moves as many,
// on as many threads (OMP_NUM_THREADS).
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

void Report(benchmark::State& state, int64_t bytes) {
  const double copy = testing::MemoryCopyRate(bytes);
  state.SetBytesProcessed(state.iterations() * bytes);
  state.counters["copy_%"] =
      benchmark::Counter(100.0 * static_cast<double>(bytes) / copy,
                         benchmark::Counter::kIsIterationInvariantRate);
}

void DynamicCast(benchmark::State& state, DType dtype, CastPlan plan,
                 int64_t bytes) {
  const Tensor in = Input(dtype, bytes);
  Quantized q;
  for (auto _ : state) {
    if (!Cast(Stream(), in, plan, &q).ok()) state.SkipWithError("cast");
    benchmark::DoNotOptimize(q.data.as<uint8_t>());
    benchmark::ClobberMemory();
  }
  Report(state, in.view().num_bytes() + q.data.view().num_bytes());
}

void KnownScaleCast(benchmark::State& state, DType dtype, CastPlan plan,
                    int64_t bytes) {
  const Tensor in = Input(dtype, bytes);
  Quantized q;
  if (!Cast(Stream(), in, plan, &q).ok()) state.SkipWithError("cast");
  for (auto _ : state) {
    if (!CastWithScale(Stream(), in, q.scale, plan, {}, &q).ok()) {
      state.SkipWithError("cast");
    }
    benchmark::DoNotOptimize(q.data.as<uint8_t>());
    benchmark::ClobberMemory();
  }
  Report(state, in.view().num_bytes() + q.data.view().num_bytes());
}

void DequantizeTo(benchmark::State& state, DType dtype, CastPlan plan,
                  int64_t bytes) {
  const Tensor in = Input(dtype, bytes);
  const Tensor out = Tensor::Allocate(dtype, in.shape()).value();
  Quantized q;
  if (!Cast(Stream(), in, plan, &q).ok()) state.SkipWithError("cast");
  for (auto _ : state) {
    if (!Dequantize(Stream(), q, out).ok()) state.SkipWithError("dequantize");
    benchmark::DoNotOptimize(out.as<uint8_t>());
    benchmark::ClobberMemory();
  }
  Report(state, out.view().num_bytes() + q.data.view().num_bytes());
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
