// SPDX-License-Identifier: Apache-2.0

// How far y = x w^T, [128, k] by [128, k], is from the sum in double of the
// same quantised operands. `norm` is the error relative to the norm of the
// result; `worst` the largest error of an element relative to its sum |x w|.
// Operands are normal, with outliers of 300, or normal without their signs.
// $OCTET_TEST_DEVICE chooses the device.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "benchmark/benchmark.h"
#include "float8/cast.h"
#include "float8/gemm.h"
#include "testing/numbers.h"
#include "testing/random_tensor.h"
#include "testing/test_device.h"

namespace octet::float8 {
namespace {

using G = Granularity;

constexpr int64_t kSide = 128;

enum class Data { kNormal, kOutliers, kMagnitudes };

struct Kind {
  const char* name;
  G x;
  G w;
  Accumulation accumulation;
};
constexpr Kind kKinds[] = {
    {"tensor", G::kTensor, G::kTensor, Accumulation::kPrecise},
    {"tensor_fast", G::kTensor, G::kTensor, Accumulation::kFast},
    {"row", G::kRow, G::kRow, Accumulation::kPrecise},
    {"row_fast", G::kRow, G::kRow, Accumulation::kFast},
    {"block128", G::kBlock1x128, G::kBlock128x128, Accumulation::kPrecise},
    {"block1x128", G::kBlock1x128, G::kBlock1x128, Accumulation::kPrecise},
};

struct Side {
  Quantized on_device;
  std::vector<double> meaning;  // q / scale
};

absl::StatusOr<Side> MakeSide(const Stream& stream, Data data, G granularity,
                              int64_t k, int seed) {
  testing::RandomOptions options;
  if (data == Data::kOutliers) options.outliers = 3;
  OCTET_ASSIGN_OR_RETURN(
      Tensor host,
      testing::RandomTensor(DType::kF32, Shape({kSide, k}), seed, options));
  if (data == Data::kMagnitudes) {
    for (int64_t i = 0; i < kSide * k; ++i) {
      host.as<float>()[i] = std::abs(host.as<float>()[i]);
    }
  }
  Quantized q;
  const CastPlan plan{DType::kF8E4M3, granularity, ScaleRounding::kExact};
  OCTET_RETURN_IF_ERROR(Cast(Stream(), host, plan, &q));
  Side side;
  OCTET_ASSIGN_OR_RETURN(side.meaning, testing::ToDoubles(q.data));
  OCTET_ASSIGN_OR_RETURN(const std::vector<double> scales,
                         testing::ToDoubles(q.scale));
  const Tile tile = TileOf(granularity);
  for (int64_t i = 0; i < kSide * k; ++i) {
    const int64_t row = tile.rows == 0 ? 0 : i / k / tile.rows;
    const int64_t col = tile.cols == 0 ? 0 : i % k / tile.cols;
    side.meaning[i] /= scales[row * q.scale.view().cols() + col];
  }
  side.on_device.plan = plan;
  OCTET_ASSIGN_OR_RETURN(side.on_device.data,
                         testing::ToDevice(stream, q.data));
  OCTET_ASSIGN_OR_RETURN(side.on_device.scale,
                         testing::ToDevice(stream, q.scale));
  return side;
}

struct Errors {
  double norm;
  double worst;
};

Errors Compare(const std::vector<double>& got, const Side& x, const Side& w,
               int64_t k) {
  double error = 0.0, norm = 0.0, worst = 0.0;
  for (int64_t i = 0; i < kSide * kSide; ++i) {
    double sum = 0.0, magnitude = 0.0;
    for (int64_t p = 0; p < k; ++p) {
      const double product =
          x.meaning[i / kSide * k + p] * w.meaning[i % kSide * k + p];
      sum += product;
      magnitude += std::abs(product);
    }
    error += (got[i] - sum) * (got[i] - sum);
    norm += sum * sum;
    worst = std::max(worst, std::abs(got[i] - sum) / magnitude);
  }
  return {std::sqrt(error / norm), worst};
}

absl::StatusOr<Errors> Measure(const Kind& kind, Data data, int64_t k) {
  OCTET_ASSIGN_OR_RETURN(const Stream stream, testing::TestStream());
  OCTET_ASSIGN_OR_RETURN(const Side x, MakeSide(stream, data, kind.x, k, 1));
  OCTET_ASSIGN_OR_RETURN(const Side w, MakeSide(stream, data, kind.w, k, 2));
  OCTET_ASSIGN_OR_RETURN(
      const Tensor out,
      Tensor::Zeros(stream, DType::kF32, Shape({kSide, kSide})));
  GemmOptions options;
  options.accumulation = kind.accumulation;
  OCTET_RETURN_IF_ERROR(Gemm(stream, OperandOf(x.on_device),
                             OperandOf(w.on_device, Transpose::kYes), options,
                             out));
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  OCTET_ASSIGN_OR_RETURN(const std::vector<double> got,
                         testing::ToDoubles(out));
  return Compare(got, x, w, k);
}

void BM_Error(benchmark::State& state, Kind kind, Data data, int64_t k) {
  for (auto _ : state) {
    const absl::StatusOr<Errors> errors = Measure(kind, data, k);
    if (!errors.ok()) {
      state.SkipWithError(errors.status().ToString().c_str());
      return;
    }
    state.counters["norm"] = errors->norm;
    state.counters["worst"] = errors->worst;
  }
}

void RegisterAll() {
  constexpr const char* kNames[] = {"normal", "outliers", "magnitudes"};
  for (const Data data : {Data::kNormal, Data::kOutliers, Data::kMagnitudes}) {
    for (const Kind& kind : kKinds) {
      for (const int64_t k : {128, 512, 2048, 8192, 32768}) {
        const std::string name =
            absl::StrCat("GemmError/", kNames[static_cast<int>(data)], "/",
                         kind.name, "/k", k);
        benchmark::RegisterBenchmark(name.c_str(), &BM_Error, kind, data, k)
            ->Iterations(1)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

const bool kRegistered = (RegisterAll(), true);

}  // namespace
}  // namespace octet::float8
