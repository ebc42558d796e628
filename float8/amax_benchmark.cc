// SPDX-License-Identifier: Apache-2.0

// Amax on the CPU. `bytes` are those of the input; copy_% is their rate against
// a memory copy that moves as many, on as many threads (OMP_NUM_THREADS).
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "float8/amax.h"
#include "testing/memory_copy.h"
#include "testing/random_tensor.h"

namespace octet::float8 {
namespace {

constexpr int64_t kCols = 4096;

void AmaxOf(benchmark::State& state, DType dtype, Granularity granularity,
            int64_t bytes) {
  const int64_t rows = bytes / SizeOf(dtype) / kCols;
  const Tensor in =
      testing::RandomTensor(dtype, Shape({rows, kCols}), 1).value();
  const Tensor out =
      Tensor::Allocate(DType::kF32, ScaleShape(granularity, rows, kCols))
          .value();
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  for (auto _ : state) {
    if (!Amax(Stream(), in, granularity, out).ok()) state.SkipWithError("amax");
    benchmark::DoNotOptimize(out.as<float>());
    benchmark::ClobberMemory();
  }
  const std::chrono::duration<double> took = Clock::now() - begin;
  const double moved = static_cast<double>(state.iterations() * bytes);
  state.SetBytesProcessed(state.iterations() * bytes);
  state.counters["copy_%"] =
      100.0 * moved / took.count() / testing::MemoryCopyRate(bytes);
}

// From the second-level cache to far beyond the last.
const bool kRegistered = [] {
  for (int64_t bytes :
       {int64_t{1} << 20, int64_t{16} << 20, int64_t{256} << 20}) {
    for (DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
      for (Granularity granularity :
           {Granularity::kTensor, Granularity::kRow, Granularity::kColumn,
            Granularity::kBlock1x128, Granularity::kBlock128x1,
            Granularity::kBlock128x128, Granularity::kBlock1x32,
            Granularity::kBlock32x1}) {
        const std::string name =
            absl::StrCat("amax/", Name(dtype), "/", Name(granularity), "/",
                         bytes >> 20, "MiB");
        benchmark::RegisterBenchmark(name.c_str(), &AmaxOf, dtype, granularity,
                                     bytes)
            ->UseRealTime();
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace octet::float8
