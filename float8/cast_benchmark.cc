// SPDX-License-Identifier: Apache-2.0

// Casts on the device that $OCTET_TEST_DEVICE names. The time is the median of
// single calls, idle before each; of 32 Mi elements and more on a GPU a tenth
// of ten calls, on two inputs by turns, so that none finds its own in the
// cache. Names that end in /graph replay the call as a captured graph, without
// the cost of queueing. `reads` counts how often an algorithm reads its input:
// twice where the scale of a tensor, row or column must be known before its
// first byte can be written. copy_% is the rate of these bytes and those
// written in percent of a device copy's (on the CPU: of a memory copy's that
// moves as many bytes, on as many threads).
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "benchmark/benchmark.h"
#include "float8/amax.h"
#include "float8/cast.h"
#include "testing/benchmark_device.h"
#include "testing/random_tensor.h"

namespace octet::float8 {
namespace {

// On the input's first or second copy.
using Work = std::function<absl::Status(int)>;

const Stream& OnDevice() {
  static const Stream stream = testing::BenchmarkStream().value();
  return stream;
}

bool IsCpu() { return OnDevice().device().kind == DeviceKind::kCpu; }

// Random elements, repeated; one buffer a type serves all cases.
absl::StatusOr<std::vector<TensorView>> Inputs(DType dtype, int64_t rows,
                                               int64_t cols) {
  static auto* const buffers = new std::map<DType, Tensor>();
  Tensor& buffer = (*buffers)[dtype];
  const Stream& stream = OnDevice();
  const int64_t n = 2 * rows * cols;
  if (buffer.num_elements() < n) {
    const Shape part({1 << 20});
    OCTET_ASSIGN_OR_RETURN(const Tensor some,
                           testing::RandomTensor(dtype, part, 1));
    buffer = Tensor();
    const int64_t parts = (n + (1 << 20) - 1) >> 20;
    OCTET_ASSIGN_OR_RETURN(
        buffer, Tensor::Allocate(dtype, Shape({parts << 20}), stream.device()));
    for (int64_t i = 0; i < parts; ++i) {
      const TensorView to(buffer.as<char>() + i * some.view().num_bytes(),
                          dtype, part, stream.device());
      OCTET_RETURN_IF_ERROR(Copy(stream, some, to));
    }
    OCTET_RETURN_IF_ERROR(stream.Synchronize());
  }
  const TensorView both(buffer.view().data(), dtype, Shape({2 * rows, cols}),
                        stream.device());
  return std::vector<TensorView>{both.RowSlice(0, rows),
                                 both.RowSlice(rows, rows)};
}

struct Case {
  std::string name;
  DType dtype = DType::kBf16;
  CastPlan plan;
  CastLayout layout = CastLayout::kRowMajor;
  int64_t rows = 0;
  int64_t cols = 4096;
  bool as_graph = false;
};

// Of the bytes, scales and reciprocals.
int64_t BytesOf(const Quantized& q) {
  int64_t bytes = 0;
  for (const Tensor* tensor : {&q.data, &q.transposed, &q.scale, &q.reciprocal,
                               &q.transposed_reciprocal}) {
    if (tensor->view().data() != nullptr) bytes += tensor->view().num_bytes();
  }
  return bytes;
}

// Times `work`, which reads the input `reads` times and writes `written` bytes.
absl::Status Report(benchmark::State& state, const Case& c, double reads,
                    int64_t read, int64_t written, const Work& work) {
  const Stream& stream = OnDevice();
  const bool many = !IsCpu() && c.rows * c.cols >= int64_t{32} << 20;
  const int calls = many ? 10 : 1;
  const auto all = [&]() -> absl::Status {
    for (int i = 0; i < calls; ++i) OCTET_RETURN_IF_ERROR(work(i % 2));
    return absl::OkStatus();
  };
  OCTET_ASSIGN_OR_RETURN(double seconds,
                         c.as_graph ? testing::SecondsPerLaunch(stream, all)
                                    : testing::SecondsPerCall(stream, all));
  seconds /= calls;
  const double moved =
      reads * static_cast<double>(read) + static_cast<double>(written);
  OCTET_ASSIGN_OR_RETURN(
      const double copy,
      testing::CopyRate(stream, static_cast<int64_t>(moved)));
  for (auto _ : state) state.SetIterationTime(seconds);
  state.counters["GB/s"] = 1e-9 * moved / seconds;
  state.counters["copy_%"] = 100.0 * moved / seconds / copy;
  state.counters["reads"] = reads;
  return absl::OkStatus();
}

CastOptions OptionsOf(const Case& c) {
  CastOptions options;
  options.layout = c.layout;
  return options;
}

absl::Status Dynamic(benchmark::State& state, const Case& c) {
  OCTET_ASSIGN_OR_RETURN(const std::vector<TensorView> ins,
                         Inputs(c.dtype, c.rows, c.cols));
  const TensorView in = ins[0];
  const CastOptions options = OptionsOf(c);
  Quantized q;
  OCTET_RETURN_IF_ERROR(Cast(OnDevice(), in, c.plan, options, &q));
  const Granularity tiles = c.plan.granularity;
  const bool twice =
      tiles == Granularity::kTensor || tiles == Granularity::kColumn ||
      (tiles == Granularity::kRow && c.layout != CastLayout::kRowMajor);
  return Report(
      state, c, twice ? 2 : 1, in.num_bytes(), BytesOf(q),
      [&](int i) { return Cast(OnDevice(), ins[i], c.plan, options, &q); });
}

// The amax is known; with the sums of columns where the name says so.
absl::Status Known(benchmark::State& state, const Case& c, bool with_sum) {
  OCTET_ASSIGN_OR_RETURN(const std::vector<TensorView> ins,
                         Inputs(c.dtype, c.rows, c.cols));
  const TensorView in = ins[0];
  OCTET_ASSIGN_OR_RETURN(
      const Tensor amax,
      Tensor::Allocate(DType::kF32,
                       ScaleShape(c.plan.granularity, c.rows, c.cols),
                       OnDevice().device()));
  OCTET_RETURN_IF_ERROR(Amax(OnDevice(), in, c.plan.granularity, amax));
  OCTET_ASSIGN_OR_RETURN(
      const Tensor sum,
      Tensor::Allocate(DType::kF32, Shape({c.cols}), OnDevice().device()));
  CastOptions options = OptionsOf(c);
  options.known_amax = amax;
  if (with_sum) options.column_sum = sum;
  Quantized q;
  OCTET_RETURN_IF_ERROR(Cast(OnDevice(), in, c.plan, options, &q));
  return Report(state, c, 1, in.num_bytes(), BytesOf(q), [&](int i) {
    return Cast(OnDevice(), ins[i], c.plan, options, &q);
  });
}

// As delayed scaling does: a given scale, and the amax recorded.
absl::Status Given(benchmark::State& state, const Case& c) {
  OCTET_ASSIGN_OR_RETURN(const std::vector<TensorView> ins,
                         Inputs(c.dtype, c.rows, c.cols));
  const TensorView in = ins[0];
  CastOptions options = OptionsOf(c);
  Quantized q;
  OCTET_RETURN_IF_ERROR(Cast(OnDevice(), in, c.plan, options, &q));
  OCTET_ASSIGN_OR_RETURN(
      const Tensor seen,
      Tensor::Allocate(DType::kF32, q.scale.shape(), OnDevice().device()));
  options.seen_amax = seen;
  return Report(state, c, 1, in.num_bytes(), BytesOf(q), [&](int i) {
    return CastWithScale(OnDevice(), ins[i], q.scale, c.plan, options, &q);
  });
}

absl::Status Pair(benchmark::State& state, const Case& c, Granularity second,
                  double reads) {
  OCTET_ASSIGN_OR_RETURN(const std::vector<TensorView> ins,
                         Inputs(c.dtype, c.rows, c.cols));
  const TensorView in = ins[0];
  Quantized rows, columns;
  CastTarget a, b;
  a.plan = b.plan = c.plan;
  b.plan.granularity = second;
  b.layout = CastLayout::kTransposed;
  a.out = &rows;
  b.out = &columns;
  OCTET_RETURN_IF_ERROR(CastPair(OnDevice(), in, a, b));
  return Report(state, c, reads, in.num_bytes(),
                BytesOf(rows) + BytesOf(columns),
                [&](int i) { return CastPair(OnDevice(), ins[i], a, b); });
}

// The rows as eight matrices.
absl::Status Many(benchmark::State& state, const Case& c) {
  constexpr int64_t kMatrices = 8;
  OCTET_ASSIGN_OR_RETURN(const std::vector<TensorView> ins,
                         Inputs(c.dtype, c.rows, c.cols));
  const TensorView in = ins[0];
  std::vector<Quantized> outs(kMatrices);
  std::vector<CastJob> jobs;
  const int64_t rows = c.rows / kMatrices;
  for (int64_t i = 0; i < kMatrices; ++i) {
    jobs.push_back({in.RowSlice(i * rows, rows), c.plan, c.layout, &outs[i]});
  }
  OCTET_RETURN_IF_ERROR(CastMany(OnDevice(), jobs));
  const double reads = c.plan.granularity == Granularity::kTensor ? 2 : 1;
  return Report(state, c, reads, in.num_bytes(), kMatrices * BytesOf(outs[0]),
                [&](int) { return CastMany(OnDevice(), jobs); });
}

absl::Status Back(benchmark::State& state, const Case& c) {
  OCTET_ASSIGN_OR_RETURN(const std::vector<TensorView> ins,
                         Inputs(c.dtype, c.rows, c.cols));
  const TensorView in = ins[0];
  Quantized q;
  OCTET_RETURN_IF_ERROR(Cast(OnDevice(), in, c.plan, OptionsOf(c), &q));
  OCTET_ASSIGN_OR_RETURN(
      const Tensor out,
      Tensor::Allocate(c.dtype, in.shape(), OnDevice().device()));
  return Report(state, c, 1, BytesOf(q), in.num_bytes(),
                [&](int) { return Dequantize(OnDevice(), q, out); });
}

absl::string_view Name(CastLayout layout) {
  return layout == CastLayout::kRowMajor     ? "rows"
         : layout == CastLayout::kTransposed ? "transposed"
                                             : "both";
}

template <typename Function>
void Register(absl::string_view what, Case c, Function function) {
  const std::string name =
      absl::StrCat(what, "/", float8::Name(c.plan.granularity), "/",
                   Name(c.layout), "/", octet::Name(c.dtype), "/",
                   octet::Name(c.plan.dtype), "/", c.rows, "x", c.cols);
  const auto add = [&](const std::string& full, bool as_graph) {
    Case own = c;
    own.as_graph = as_graph;
    benchmark::RegisterBenchmark(
        full.c_str(),
        [own, function](benchmark::State& state) {
          constexpr int64_t kMostOnCpu = int64_t{16} << 20;
          if (IsCpu() && (own.as_graph || own.rows * own.cols > kMostOnCpu)) {
            state.SkipWithError("for a GPU");
            return;
          }
          const absl::Status status = function(state, own);
          if (!status.ok()) state.SkipWithError(status.ToString().c_str());
        })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMicrosecond);
  };
  add(name, false);
  if (c.rows * c.cols <= int64_t{16} << 20) add(name + "/graph", true);
}

constexpr CastLayout kLayouts[] = {CastLayout::kRowMajor,
                                   CastLayout::kTransposed, CastLayout::kBoth};

void RegisterLayouts(Case c) {
  for (CastLayout layout : kLayouts) {
    c.layout = layout;
    for (Granularity granularity :
         {Granularity::kTensor, Granularity::kRow, Granularity::kColumn,
          Granularity::kBlock1x128, Granularity::kBlock128x1,
          Granularity::kBlock128x128}) {
      c.plan.granularity = granularity;
      Register("dynamic", c, &Dynamic);
    }
    for (Granularity granularity : {Granularity::kTensor, Granularity::kRow}) {
      c.plan.granularity = granularity;
      Register("known", c, [](benchmark::State& state, const Case& own) {
        return Known(state, own, false);
      });
      Register("given", c, &Given);
    }
    c.plan.granularity = Granularity::kTensor;
    Register("known+sum", c, [](benchmark::State& state, const Case& own) {
      return Known(state, own, true);
    });
  }
}

void RegisterOthers(Case c) {
  c.layout = CastLayout::kRowMajor;
  c.plan.granularity = Granularity::kBlock1x128;
  Register("pair", c, [](benchmark::State& state, const Case& own) {
    return Pair(state, own, Granularity::kBlock128x1, 1);
  });
  c.plan.granularity = Granularity::kRow;
  Register("pair", c, [](benchmark::State& state, const Case& own) {
    return Pair(state, own, Granularity::kColumn, 2);
  });
  for (Granularity granularity :
       {Granularity::kTensor, Granularity::kBlock128x128}) {
    c.plan.granularity = granularity;
    Register("dequantize", c, &Back);
    c.layout = CastLayout::kBoth;
    Register("many", c, &Many);
    c.layout = CastLayout::kRowMajor;
  }
}

// From what one block does alone to far beyond the second-level cache.
const bool kRegistered = [] {
  for (int64_t rows : {16, 256, 1024, 4096, 16384, 65536}) {
    Case c;
    c.rows = rows;
    RegisterLayouts(c);
    RegisterOthers(c);
  }
  for (DType dtype : {DType::kBf16, DType::kF16, DType::kF32}) {
    Case c;
    c.dtype = dtype;
    c.rows = 16384;
    c.plan.dtype = DType::kF8E5M2;
    RegisterLayouts(c);
    RegisterOthers(c);
  }
  return true;
}();

}  // namespace
}  // namespace octet::float8
