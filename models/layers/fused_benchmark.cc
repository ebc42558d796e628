// SPDX-License-Identifier: Apache-2.0

// The normalisation and the gated activation, plain, with amax, and with their
// outputs cast: fused, and as the two operations. $OCTET_TEST_DEVICE chooses
// the device.
//
// A call is a quarter of a graph of four. GB/s counts the bytes that the fused
// algorithm must move, in both rows of a comparison; copy_% is that in percent
// of a device copy's bytes read and written, measured in the same run.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "models/layers/rms_norm_cast.h"
#include "models/layers/swiglu_cast.h"
#include "testing/benchmark_device.h"
#include "testing/copy_report.h"
#include "testing/random_tensor.h"

namespace octet::models {
namespace {

using float8::CastLayout;
using float8::Granularity;

constexpr int kCalls = 4;

const Stream& TheStream() {
  static const Stream stream = testing::BenchmarkStream().value();
  return stream;
}

// Of random elements that repeat.
Tensor Random(const Shape& shape, uint64_t seed) {
  const Stream& stream = TheStream();
  const Tensor some =
      testing::RandomTensor(DType::kBf16, Shape({1 << 18}), seed).value();
  Tensor all = Tensor::Allocate(DType::kBf16, shape, stream.device()).value();
  const int64_t n = all.num_elements();
  for (int64_t at = 0; at < n; at += some.num_elements()) {
    const Shape count({std::min(n - at, some.num_elements())});
    const TensorView from(some.as<char>(), DType::kBf16, count);
    const TensorView to(all.as<char>() + 2 * at, DType::kBf16, count,
                        stream.device());
    if (!Copy(stream, from, to).ok()) std::abort();
  }
  return all;
}

Tensor F32(const Shape& shape) {
  return Tensor::Zeros(TheStream(), DType::kF32, shape).value();
}

Tensor One() {
  const Tensor host = Tensor::Allocate(DType::kF32, Shape({1, 1})).value();
  host.as<float>()[0] = 1.0f;
  Tensor one =
      Tensor::Allocate(DType::kF32, Shape({1, 1}), TheStream().device())
          .value();
  if (!Copy(TheStream(), host, one).ok()) std::abort();
  return one;
}

// `bytes` are those of one call of `work`.
void Time(benchmark::State& state, double bytes,
          const std::function<absl::Status()>& work) {
  const Stream& stream = TheStream();
  const auto calls = [&] {
    absl::Status status;
    for (int i = 0; i < kCalls && status.ok(); ++i) status = work();
    return status;
  };
  for (auto _ : state) {
    absl::StatusOr<double> seconds = testing::SecondsPerLaunch(stream, calls);
    if (seconds.ok()) *seconds /= kCalls;
    if (!testing::ReportBesideCopy(stream, bytes, seconds, &state)) return;
    state.counters["us"] = *seconds * 1e6;
  }
}

// What is done with an output.
struct Mode {
  const char* name;
  enum Kind { kPlain, kAmax, kKnown, kDynamic, kBlocks } kind;
  float8::CastPlan plan;
  CastLayout layout;
  double written;  // bytes an element, of float8
};

const Mode kPlain = {"plain", Mode::kPlain, {}, CastLayout::kRowMajor, 0};
const Mode kAmax = {"amax", Mode::kAmax, {}, CastLayout::kRowMajor, 0};
const Mode kKnownRows = {
    "known_scale", Mode::kKnown, {}, CastLayout::kRowMajor, 1};
const Mode kKnownBoth = {
    "known_scale_both", Mode::kKnown, {}, CastLayout::kBoth, 2};
const Mode kRows = {"row",
                    Mode::kDynamic,
                    {DType::kF8E4M3, Granularity::kRow, {}},
                    CastLayout::kRowMajor,
                    1};
const Mode kRowBlocks = {"1x128",
                         Mode::kDynamic,
                         {DType::kF8E4M3, Granularity::kBlock1x128, {}},
                         CastLayout::kRowMajor,
                         1};
const Mode kBlocks = {"1x128_and_128x1",
                      Mode::kBlocks,
                      {DType::kF8E4M3, Granularity::kBlock1x128, {}},
                      CastLayout::kRowMajor,
                      2};
// Dynamic scaling of the tensor: the pair of operations, with the amax from the
// first.
const Mode kTensorBoth = {
    "tensor_both", Mode::kDynamic, {}, CastLayout::kBoth, 2};

bool IsCast(const Mode& mode) {
  return mode.kind != Mode::kPlain && mode.kind != Mode::kAmax;
}

// The tensors of one cast.
struct CastTensors {
  explicit CastTensors(const Mode& mode) : mode(mode), scale(One()) {}

  OutputCast cast() {
    OutputCast cast;
    cast.first = {mode.plan, mode.layout, &first};
    if (mode.kind == Mode::kKnown) cast.known_scale = scale;
    if (mode.kind == Mode::kKnown) cast.seen_amax = amax;
    if (mode.kind == Mode::kBlocks) {
      cast.second = {{DType::kF8E4M3, Granularity::kBlock128x1, {}},
                     CastLayout::kTransposed,
                     &second};
    }
    return cast;
  }

  Mode mode;
  Tensor scale;
  Tensor amax = F32(Shape({1, 1}));
  float8::Quantized first, second;
};

bool TakesAmax(const Mode& mode) {
  return mode.kind == Mode::kAmax ||
         (mode.kind == Mode::kDynamic &&
          mode.plan.granularity == Granularity::kTensor);
}

void RmsNorm(benchmark::State& state, Shape shape, Mode mode, bool fused) {
  const Tensor residual = Random(shape, 1), delta = Random(shape, 2),
               weight = Random(Shape({shape.cols()}), 3), x = Random(shape, 4),
               y = Random(shape, 5), rstd = F32(Shape({shape.rows()})),
               amax = F32(Shape({1, 1}));
  CastTensors tensors(mode);
  RmsNormCastArgs args;
  args.norm = {residual, delta, weight, 1e-5, x, y, rstd};
  if (TakesAmax(mode)) args.norm.amax = amax;
  const double n = static_cast<double>(shape.num_elements());
  if (!IsCast(mode)) {
    return Time(state, 8 * n,
                [&] { return RmsNormForward(TheStream(), args.norm); });
  }
  args.cast = tensors.cast();
  // Transposed bytes need x a second time.
  const bool again = mode.written == 2;
  const double bytes = (6 + (again ? 2 : 0) + mode.written) * n;
  if (fused) {
    args.norm.y = {};
    return Time(state, bytes, [&] { return RmsNormCast(TheStream(), args); });
  }
  Time(state, bytes, [&] {
    const absl::Status status = RmsNormForward(TheStream(), args.norm);
    return status.ok()
               ? internal::CastOutput(TheStream(), y, args.norm.amax, args.cast)
               : status;
  });
}

void RmsNormGradient(benchmark::State& state, Shape shape, Mode mode, bool) {
  const Tensor x = Random(shape, 1), dy = Random(shape, 2),
               weight = Random(Shape({shape.cols()}), 3), dx = Random(shape, 4),
               rstd = F32(Shape({shape.rows()})),
               dweight = F32(Shape({shape.cols()})), amax = F32(Shape({1, 1}));
  RmsNormBackwardArgs args = {x, weight, rstd, dy, dx, dweight};
  if (TakesAmax(mode)) args.dx_amax = amax;
  Time(state, 8.0 * static_cast<double>(shape.num_elements()),
       [&] { return RmsNormBackward(TheStream(), args); });
}

void Swiglu(benchmark::State& state, Shape shape, Mode mode, bool fused) {
  const Tensor gate = Random(shape, 1), up = Random(shape, 2),
               y = Random(shape, 3), amax = F32(Shape({1, 1}));
  CastTensors tensors(mode);
  SwigluCastArgs args;
  args.swiglu = {gate, up, y};
  if (TakesAmax(mode)) args.swiglu.amax = amax;
  const double n = static_cast<double>(shape.num_elements());
  if (!IsCast(mode)) {
    return Time(state, 6 * n,
                [&] { return SwigluForward(TheStream(), args.swiglu); });
  }
  args.cast = tensors.cast();
  const double bytes = (4 + mode.written) * n;
  if (fused) {
    args.swiglu.y = {};
    return Time(state, bytes, [&] { return SwigluCast(TheStream(), args); });
  }
  Time(state, bytes, [&] {
    const absl::Status status = SwigluForward(TheStream(), args.swiglu);
    return status.ok() ? internal::CastOutput(TheStream(), y, args.swiglu.amax,
                                              args.cast)
                       : status;
  });
}

void SwigluGradient(benchmark::State& state, Shape shape, Mode mode,
                    bool fused) {
  const Tensor gate = Random(shape, 1), up = Random(shape, 2),
               dy = Random(shape, 3), dgate = Random(shape, 4),
               dup = Random(shape, 5), dgate_amax = F32(Shape({1, 1})),
               dup_amax = F32(Shape({1, 1}));
  CastTensors of_dgate(mode), of_dup(mode);
  SwigluBackwardCastArgs args;
  args.swiglu = {gate, up, dy, dgate, dup};
  if (TakesAmax(mode)) {
    args.swiglu.dgate_amax = dgate_amax;
    args.swiglu.dup_amax = dup_amax;
  }
  const double n = static_cast<double>(shape.num_elements());
  if (!IsCast(mode)) {
    return Time(state, 10 * n,
                [&] { return SwigluBackward(TheStream(), args.swiglu); });
  }
  args.dgate = of_dgate.cast();
  args.dup = of_dup.cast();
  const double bytes = (6 + 2 * mode.written) * n;
  if (fused) {
    args.swiglu.dgate = args.swiglu.dup = {};
    return Time(state, bytes,
                [&] { return SwigluBackwardCast(TheStream(), args); });
  }
  Time(state, bytes, [&] {
    absl::Status status = SwigluBackward(TheStream(), args.swiglu);
    if (status.ok()) {
      status = internal::CastOutput(TheStream(), dgate, args.swiglu.dgate_amax,
                                    args.dgate);
    }
    return status.ok() ? internal::CastOutput(TheStream(), dup,
                                              args.swiglu.dup_amax, args.dup)
                       : status;
  });
}

void Register(const std::string& name, const Shape& shape, const Mode& mode,
              void (*run)(benchmark::State&, Shape, Mode, bool)) {
  const auto add = [&](const char* way, bool fused) {
    const std::string full =
        absl::StrCat(name, "/", mode.name, way, "/", shape.ToString());
    benchmark::RegisterBenchmark(full.c_str(), run, shape, mode, fused)
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMicrosecond);
  };
  if (IsCast(mode) && !TakesAmax(mode)) add("/fused", true);
  add(IsCast(mode) ? "/pair" : "", false);
}

const bool kRegistered = [] {
  for (const int64_t hidden : {4096, 8192}) {
    const Shape shape({8192, hidden});
    for (const Mode& mode : {kPlain, kAmax, kKnownRows, kRows, kRowBlocks,
                             kKnownBoth, kBlocks, kTensorBoth}) {
      Register("rms_norm", shape, mode, &RmsNorm);
    }
    for (const Mode& mode : {kPlain, kAmax}) {
      Register("rms_norm_backward", shape, mode, &RmsNormGradient);
    }
  }
  const Shape wide({8192, 14336});
  for (const Mode& mode : {kPlain, kAmax, kKnownRows, kRowBlocks, kKnownBoth,
                           kBlocks, kTensorBoth}) {
    Register("swiglu", wide, mode, &Swiglu);
  }
  for (const Mode& mode : {kPlain, kAmax, kKnownRows, kRowBlocks, kKnownBoth,
                           kBlocks, kTensorBoth}) {
    Register("swiglu_backward", wide, mode, &SwigluGradient);
  }
  return true;
}();

}  // namespace
}  // namespace octet::models
