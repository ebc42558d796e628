// SPDX-License-Identifier: Apache-2.0

// Scaled matrix multiplication on the CPU.
//
// TFLOP/s, and the percentage of what the library's own f32 product reached on
// the same sizes a moment before. Sizes are those of a small model's linears,
// forward and wgrad, and two cubes.

#include <algorithm>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/float16.h"
#include "base/philox.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "benchmark/benchmark.h"
#include "dnnl.h"
#include "float8/cast.h"
#include "float8/gemm.h"

namespace octet::float8 {
namespace {

struct Size {
  int64_t m, n, k;
};

enum class Kind { kF32, kBf16, kTensor, kRow, kBlock, kMx };

struct KindInfo {
  const char* name;
  CastPlan a;
  CastPlan b;
};
constexpr DType kE4M3 = DType::kF8E4M3;
KindInfo InfoOf(Kind kind) {
  using G = Granularity;
  using R = ScaleRounding;
  switch (kind) {
    case Kind::kF32:
      return {"f32", {}, {}};
    case Kind::kBf16:
      return {"bf16", {}, {}};
    case Kind::kTensor:
      return {"tensor",
              {kE4M3, G::kTensor, R::kExact},
              {kE4M3, G::kTensor, R::kExact}};
    case Kind::kRow:
      return {"row_pow2",
              {kE4M3, G::kRow, R::kPowerOfTwo},
              {kE4M3, G::kRow, R::kPowerOfTwo}};
    case Kind::kBlock:
      return {"block128",
              {kE4M3, G::kBlock1x128, R::kExact},
              {kE4M3, G::kBlock128x128, R::kExact}};
    case Kind::kMx:
      return {"mx32",
              {kE4M3, G::kBlock1x32, R::kE8m0},
              {kE4M3, G::kBlock1x32, R::kE8m0}};
  }
  return {};
}

Tensor Normal(DType dtype, int64_t rows, int64_t cols, uint64_t seed) {
  Tensor tensor = *Tensor::Allocate(dtype, Shape({rows, cols}));
  const Philox random(seed, 0);
  for (int64_t i = 0; i < rows * cols; ++i) {
    const float x = random.Normal(i);
    if (dtype == DType::kBf16) {
      tensor.as<Bfloat16>()[i] = ToBfloat16(x);
    } else {
      tensor.as<float>()[i] = x;
    }
  }
  return tensor;
}

// The best of some runs of the library's f32 product, in seconds.
double LibrarySeconds(const Size& s) {
  const Tensor a = Normal(DType::kF32, s.m, s.k, 1);
  const Tensor b = Normal(DType::kF32, s.n, s.k, 2);
  const Tensor c = *Tensor::Allocate(DType::kF32, Shape({s.m, s.n}));
  double best = 1e30;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    dnnl_sgemm('N', 'T', s.m, s.n, s.k, 1.0f, a.as<float>(), s.k, b.as<float>(),
               s.k, 0.0f, c.as<float>(), s.n);
    const std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, seconds.count());
  }
  return best;
}

// y = x w^T, as forward has it; cast beforehand.
void BM_Gemm(benchmark::State& state, Kind kind, Size s, DType out_dtype) {
  const Stream stream;
  const DType dtype = kind == Kind::kBf16 ? DType::kBf16 : DType::kF32;
  const Tensor a = Normal(dtype, s.m, s.k, 1);
  const Tensor b = Normal(dtype, s.n, s.k, 2);
  const Tensor out = *Tensor::Allocate(out_dtype, Shape({s.m, s.n}));
  const KindInfo info = InfoOf(kind);
  GemmOperand x = OperandOf(a.view());
  GemmOperand w = OperandOf(b.view(), Transpose::kYes);
  Quantized qx, qw;
  if (kind != Kind::kF32 && kind != Kind::kBf16) {
    if (!Cast(stream, a, info.a, &qx).ok() ||
        !Cast(stream, b, info.b, &qw).ok()) {
      state.SkipWithError("cast failed");
      return;
    }
    x = OperandOf(qx);
    w = OperandOf(qw, Transpose::kYes);
  }
  const double library = LibrarySeconds(s);
  double best = 1e30;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const absl::Status status = Gemm(stream, x, w, {}, out);
    const std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    if (!status.ok()) {
      state.SkipWithError(status.ToString().c_str());
      return;
    }
    best = std::min(best, seconds.count());
    state.SetIterationTime(seconds.count());
  }
  const double flop = 2.0 * s.m * s.n * s.k;
  state.counters["TFLOP/s"] = flop / best * 1e-12;
  state.counters["%of_f32"] = 100.0 * library / best;
}

void RegisterAll() {
  for (const Size s :
       {Size{2048, 768, 256}, Size{2048, 256, 768}, Size{256, 768, 2048},
        Size{512, 512, 512}, Size{1024, 1024, 1024}}) {
    for (const Kind kind : {Kind::kF32, Kind::kBf16, Kind::kTensor, Kind::kRow,
                            Kind::kBlock, Kind::kMx}) {
      for (const DType out : {DType::kF32, DType::kBf16}) {
        const std::string name =
            absl::StrCat("Gemm/", InfoOf(kind).name, "/out_", Name(out), "/",
                         s.m, "x", s.n, "x", s.k);
        benchmark::RegisterBenchmark(name.c_str(), &BM_Gemm, kind, s, out)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
}

const bool kRegistered = (RegisterAll(), true);

}  // namespace
}  // namespace octet::float8
