// SPDX-License-Identifier: Apache-2.0

// Amax on the device that $OCTET_TEST_DEVICE names, by both algorithms. The
// time is the median of single calls, idle before each; of 32 Mi elements and
// more on a GPU a tenth of ten calls, on two inputs by turns, so that none
// finds its own in the cache. Names that end in /graph replay the call as a
// captured graph. copy_% is the rate of the input's bytes in percent of a
// device copy's (on the CPU: of a memory copy's that moves as many bytes, on as
// many threads).
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "benchmark/benchmark.h"
#include "float8/amax.h"
#include "testing/benchmark_device.h"
#include "testing/random_tensor.h"

namespace octet::float8 {
namespace {

constexpr int64_t kCols = 4096;

const Stream& OnDevice() {
  static const Stream stream = testing::BenchmarkStream().value();
  return stream;
}

struct Case {
  DType dtype = DType::kBf16;
  Granularity granularity = Granularity::kTensor;
  AmaxAlgorithm algorithm = AmaxAlgorithm::kTwoStage;
  int64_t rows = 0;
  bool as_graph = false;
};

// Random rows, repeated.
absl::StatusOr<Tensor> Input(const Case& c) {
  constexpr int64_t kPart = 256;
  const Stream& stream = OnDevice();
  OCTET_ASSIGN_OR_RETURN(
      Tensor in,
      Tensor::Allocate(c.dtype, Shape({c.rows, kCols}), stream.device()));
  OCTET_ASSIGN_OR_RETURN(
      const Tensor some,
      testing::RandomTensor(c.dtype, Shape({kPart, kCols}), 1));
  for (int64_t row = 0; row < c.rows; row += kPart) {
    const int64_t count = std::min(kPart, c.rows - row);
    OCTET_RETURN_IF_ERROR(Copy(stream, some.view().RowSlice(0, count),
                               in.view().RowSlice(row, count)));
  }
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  return in;
}

absl::Status Run(benchmark::State& state, const Case& c) {
  const Stream& stream = OnDevice();
  OCTET_ASSIGN_OR_RETURN(const Tensor in, Input(c));
  const bool many = stream.device().kind != DeviceKind::kCpu &&
                    c.rows * kCols >= int64_t{32} << 20;
  OCTET_ASSIGN_OR_RETURN(const Tensor other, Input(c));
  OCTET_ASSIGN_OR_RETURN(
      const Tensor out,
      Tensor::Allocate(DType::kF32, ScaleShape(c.granularity, c.rows, kCols),
                       stream.device()));
  const AmaxOptions options = {c.algorithm};
  const int calls = many ? 10 : 1;
  const auto work = [&]() -> absl::Status {
    for (int i = 0; i < calls; ++i) {
      OCTET_RETURN_IF_ERROR(
          Amax(stream, i % 2 == 0 ? in : other, c.granularity, out, options));
    }
    return absl::OkStatus();
  };
  OCTET_ASSIGN_OR_RETURN(double seconds,
                         c.as_graph ? testing::SecondsPerLaunch(stream, work)
                                    : testing::SecondsPerCall(stream, work));
  seconds /= calls;
  const int64_t bytes = in.view().num_bytes();
  OCTET_ASSIGN_OR_RETURN(const double copy, testing::CopyRate(stream, bytes));
  for (auto _ : state) state.SetIterationTime(seconds);
  const double rate = static_cast<double>(bytes) / seconds;
  state.counters["GB/s"] = 1e-9 * rate;
  state.counters["copy_%"] = 100.0 * rate / copy;
  return absl::OkStatus();
}

void Register(Case c) {
  for (bool as_graph : {false, true}) {
    if (as_graph && c.rows > 4096) continue;
    c.as_graph = as_graph;
    const std::string name = absl::StrCat(
        "amax/", Name(c.granularity), "/",
        c.algorithm == AmaxAlgorithm::kAtomic ? "atomic" : "two_stage", "/",
        octet::Name(c.dtype), "/", c.rows, "x", kCols,
        as_graph ? "/graph" : "");
    benchmark::RegisterBenchmark(
        name.c_str(),
        [c](benchmark::State& state) {
          const bool is_cpu = OnDevice().device().kind == DeviceKind::kCpu;
          if (is_cpu && (c.as_graph || c.rows > 4096 ||
                         c.algorithm == AmaxAlgorithm::kAtomic)) {
            state.SkipWithError("for a GPU");
            return;
          }
          const absl::Status status = Run(state, c);
          if (!status.ok()) state.SkipWithError(status.ToString().c_str());
        })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMicrosecond);
  }
}

// From what one block does alone to far beyond the second-level cache.
const bool kRegistered = [] {
  for (Granularity granularity :
       {Granularity::kTensor, Granularity::kRow, Granularity::kColumn,
        Granularity::kBlock1x128, Granularity::kBlock128x1,
        Granularity::kBlock128x128}) {
    for (AmaxAlgorithm algorithm :
         {AmaxAlgorithm::kTwoStage, AmaxAlgorithm::kAtomic}) {
      for (int64_t rows : {16, 256, 1024, 4096, 16384, 65536}) {
        Register({DType::kBf16, granularity, algorithm, rows});
      }
      for (DType dtype : {DType::kF32, DType::kF16}) {
        Register({dtype, granularity, algorithm, 16384});
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace octet::float8
