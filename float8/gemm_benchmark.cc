// SPDX-License-Identifier: Apache-2.0

// Scaled matrix multiplication y = x w^T, as forward has it, quantised before.
//
// TFLOP/s, and the percentage of what the device's library reaches by itself
// (gemm_peer.h): on a GPU cuBLASLt's fastest algorithm for the same operands,
// on the CPU oneDNN's f32 product. Both are timed in turns, by the median of
// single calls. Random operands: constant ones cost a GPU less power, and so
// are faster. $OCTET_TEST_DEVICE chooses the device; sizes are those of a small
// model's linears and two cubes on the CPU, of Llama's on a GPU.

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/event.h"
#include "base/status_macros.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "benchmark/benchmark.h"
#include "float8/cast.h"
#include "float8/gemm.h"
#include "float8/gemm_peer.h"
#include "testing/benchmark_device.h"
#include "testing/numbers.h"
#include "testing/random_tensor.h"
#include "testing/test_device.h"

namespace octet::float8 {
namespace {

using G = Granularity;

constexpr int kWarmUps = 2;
constexpr int kMinCalls = 12;
constexpr int kMaxCalls = 1000;
constexpr double kSeconds = 0.3;

struct Size {
  int64_t m, n, k;
};

struct Kind {
  const char* name;
  DType dtype;
  G x = G::kTensor;
  G w = G::kTensor;
  Accumulation accumulation = Accumulation::kPrecise;
  double scale = 100.0;  // the CPU is faster by powers of two
};

const std::vector<Kind>& Kinds(DeviceKind device) {
  static const auto& cpu = *new std::vector<Kind>{
      {"f32", DType::kF32},
      {"bf16", DType::kBf16},
      {"tensor", DType::kF8E4M3},
      {"row_pow2", DType::kF8E4M3, G::kRow, G::kRow, Accumulation::kPrecise,
       64.0},
      {"block128", DType::kF8E4M3, G::kBlock1x128, G::kBlock128x128},
      {"mx32", DType::kF8E4M3, G::kBlock1x32, G::kBlock1x32,
       Accumulation::kPrecise, 64.0},
  };
  static const auto& cuda = *new std::vector<Kind>{
      {"bf16", DType::kBf16},
      {"tensor_fast", DType::kF8E4M3, G::kTensor, G::kTensor,
       Accumulation::kFast},
      {"tensor", DType::kF8E4M3},
      {"row_fast", DType::kF8E4M3, G::kRow, G::kRow, Accumulation::kFast},
      {"row", DType::kF8E4M3, G::kRow, G::kRow},
      {"block128", DType::kF8E4M3, G::kBlock1x128, G::kBlock128x128},
  };
  return device == DeviceKind::kCpu ? cpu : cuda;
}

const std::vector<Size>& Sizes(DeviceKind device) {
  static const auto& cpu = *new std::vector<Size>{{2048, 768, 256},
                                                  {2048, 256, 768},
                                                  {256, 768, 2048},
                                                  {512, 512, 512},
                                                  {1024, 1024, 1024}};
  static const auto& cuda = *new std::vector<Size>{
      {4096, 4096, 4096},  {8192, 8192, 8192},  {8192, 6144, 4096},
      {8192, 28672, 4096}, {8192, 4096, 14336}, {65536, 4096, 4096},
      {256, 4096, 4096},   {16, 4096, 4096}};
  return device == DeviceKind::kCpu ? cpu : cuda;
}

const Stream& BenchmarkedStream() {
  static const Stream& stream = *new Stream(testing::BenchmarkStream().value());
  return stream;
}

// Normal values; a large matrix repeats some millions of them.
absl::StatusOr<Tensor> Normal(DType dtype, const Shape& shape, int seed) {
  const Stream& stream = BenchmarkedStream();
  const int64_t cols = shape.cols();
  const int64_t rows = std::min<int64_t>(shape.rows(), (1 << 22) / cols + 1);
  testing::RandomOptions options;
  if (IsFloat8(dtype)) options.scale = 100.0;
  static auto& made =
      *new std::map<std::tuple<DType, int64_t, int64_t, int>, Tensor>();
  Tensor& some = made[{dtype, rows, cols, seed}];
  if (some.view().data() == nullptr) {
    OCTET_ASSIGN_OR_RETURN(
        some, testing::RandomTensor(dtype, Shape({rows, cols}), seed, options));
  }
  OCTET_ASSIGN_OR_RETURN(Tensor all,
                         Tensor::Allocate(dtype, shape, stream.device()));
  for (int64_t row = 0; row < shape.rows(); row += rows) {
    const int64_t count = std::min(rows, shape.rows() - row);
    OCTET_RETURN_IF_ERROR(Copy(stream, some.view().RowSlice(0, count),
                               all.view().RowSlice(row, count)));
  }
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  return all;
}

absl::StatusOr<Tensor> Filled(const Shape& shape, double value) {
  const std::vector<double> values(shape.num_elements(), value);
  OCTET_ASSIGN_OR_RETURN(const Tensor host,
                         testing::FromDoubles(values, DType::kF32, shape));
  return testing::ToDevice(BenchmarkedStream(), host);
}

absl::StatusOr<Quantized> Operand(const Kind& kind, G granularity, int64_t rows,
                                  int64_t cols, int seed) {
  Quantized q;
  q.plan.dtype = kind.dtype;
  q.plan.granularity = granularity;
  OCTET_ASSIGN_OR_RETURN(q.data, Normal(kind.dtype, Shape({rows, cols}), seed));
  if (!IsFloat8(kind.dtype)) return q;
  OCTET_ASSIGN_OR_RETURN(
      q.scale, Filled(ScaleShape(granularity, rows, cols), kind.scale));
  const Shape reciprocals = ReciprocalShape(granularity, rows, cols);
  if (reciprocals.num_elements() > 0) {
    OCTET_ASSIGN_OR_RETURN(q.reciprocal, Filled(reciprocals, 1.0 / kind.scale));
  }
  return q;
}

struct Times {
  double ours;
  double peer;
};

using Work = std::function<absl::Status()>;

absl::StatusOr<double> OneCall(const Stream& stream, const Work& work,
                               const Event& begin, const Event& end) {
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  OCTET_RETURN_IF_ERROR(begin.Record(stream));
  OCTET_RETURN_IF_ERROR(work());
  OCTET_RETURN_IF_ERROR(end.Record(stream));
  return SecondsBetween(begin, end);
}

double Median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Call by call in turns: a GPU's clock falls under load, within tenths of a
// second.
absl::StatusOr<Times> InTurns(const Stream& stream, const Work& ours,
                              const Work& peer) {
  OCTET_ASSIGN_OR_RETURN(const Event begin, Event::Create(stream.device()));
  OCTET_ASSIGN_OR_RETURN(const Event end, Event::Create(stream.device()));
  std::vector<double> our_times, peer_times;
  double total = 0.0;
  for (int i = 0; i < kMinCalls || (total < kSeconds && i < kMaxCalls); ++i) {
    OCTET_ASSIGN_OR_RETURN(const double p, OneCall(stream, peer, begin, end));
    OCTET_ASSIGN_OR_RETURN(const double o, OneCall(stream, ours, begin, end));
    total += p + o;
    if (i < kWarmUps) continue;
    peer_times.push_back(p);
    our_times.push_back(o);
  }
  return Times{Median(std::move(our_times)), Median(std::move(peer_times))};
}

absl::StatusOr<Times> Measure(const Kind& kind, const Size& s,
                              DType out_dtype) {
  const Stream& stream = BenchmarkedStream();
  OCTET_ASSIGN_OR_RETURN(const Quantized qx,
                         Operand(kind, kind.x, s.m, s.k, 1));
  OCTET_ASSIGN_OR_RETURN(const Quantized qw,
                         Operand(kind, kind.w, s.n, s.k, 2));
  OCTET_ASSIGN_OR_RETURN(
      const Tensor out,
      Tensor::Allocate(out_dtype, Shape({s.m, s.n}), stream.device()));
  const bool is_plain = !IsFloat8(kind.dtype);
  const GemmOperand x = is_plain ? OperandOf(qx.data.view()) : OperandOf(qx);
  const GemmOperand w = is_plain ? OperandOf(qw.data.view(), Transpose::kYes)
                                 : OperandOf(qw, Transpose::kYes);
  GemmOptions options;
  options.accumulation = kind.accumulation;
  const auto ours = [&] { return Gemm(stream, x, w, options, out); };
  OCTET_ASSIGN_OR_RETURN(internal::GemmPeer * make_peer,
                         internal::GemmPeerSlot().Get(stream.device()));
  OCTET_ASSIGN_OR_RETURN(const internal::GemmPeerCall peer,
                         make_peer(stream, x, w, options, out));
  OCTET_RETURN_IF_ERROR(ours());  // picks its algorithm
  return InTurns(stream, ours, peer);
}

void BM_Gemm(benchmark::State& state, Kind kind, Size s, DType out_dtype) {
  Times times{};
  for (auto _ : state) {
    const absl::StatusOr<Times> measured = Measure(kind, s, out_dtype);
    if (!measured.ok()) {
      state.SkipWithError(measured.status().ToString().c_str());
      return;
    }
    times = *measured;
    state.SetIterationTime(times.ours);
  }
  const double flop = 2.0 * s.m * s.n * s.k;
  state.counters["TFLOP/s"] = flop / times.ours * 1e-12;
  state.counters["library"] = flop / times.peer * 1e-12;
  state.counters["%"] = 100.0 * times.peer / times.ours;
}

void RegisterAll() {
  const DeviceKind device = BenchmarkedStream().device().kind;
  const std::vector<DType> outs =
      device == DeviceKind::kCpu ? std::vector<DType>{DType::kF32, DType::kBf16}
                                 : std::vector<DType>{DType::kBf16};
  for (const Size s : Sizes(device)) {
    for (const Kind& kind : Kinds(device)) {
      for (const DType out : outs) {
        const std::string name =
            absl::StrCat("Gemm/", kind.name, "/out_", Name(out), "/", s.m, "x",
                         s.n, "x", s.k);
        benchmark::RegisterBenchmark(name.c_str(), &BM_Gemm, kind, s, out)
            ->UseManualTime()
            ->Iterations(1)
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
}

}  // namespace
}  // namespace octet::float8

// The device is known only when all leaves have registered, hence no static
// initialiser.
int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  octet::float8::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
}
