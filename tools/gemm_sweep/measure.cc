// SPDX-License-Identifier: Apache-2.0
#include "tools/gemm_sweep/measure.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/available_memory.h"
#include "base/event.h"
#include "base/float16.h"
#include "base/graph.h"
#include "base/philox.h"
#include "base/status_macros.h"
#include "base/tensor.h"
#include "float8/format.h"
#include "float8/gemm.h"
#include "float8/gemm_algorithms.h"
#include "float8/scaling.h"

namespace octet::tools {
namespace {

using float8::Granularity;

constexpr int64_t kRandom = 1 << 20;  // values, repeated
constexpr size_t kMinTimes = 5;
constexpr size_t kMaxTimes = 1000;

// The start and end of a graph matter for small products alone.
constexpr int kCallsOfSmall = 10;
constexpr int kCallsOfLarge = 2;
constexpr double kLargeFlops = 1e12;

struct Recipe {
  DType dtype;
  Granularity x, w;
  float8::Accumulation accumulation;
  float scale;
};

Recipe RecipeOf(const roofline::GemmMode& mode) {
  Recipe recipe{DType::kF8E4M3, Granularity::kTensor, Granularity::kTensor,
                float8::Accumulation::kPrecise, 100.0f};
  if (mode.dtype == "bf16") recipe.dtype = DType::kBf16;
  if (mode.dtype == "f32") recipe.dtype = DType::kF32;
  if (mode.scale_mode == "row") {
    recipe.x = recipe.w = Granularity::kRow;
    recipe.scale = 64.0f;  // rows have powers of two
  }
  if (mode.scale_mode == "block128") {
    recipe.x = Granularity::kBlock1x128;
    recipe.w = Granularity::kBlock128x128;
  }
  if (mode.scale_mode == "block1x128") {
    recipe.x = recipe.w = Granularity::kBlock1x128;
  }
  if (mode.accumulation == "fast") {
    recipe.accumulation = float8::Accumulation::kFast;
  }
  return recipe;
}

// Normal values in the dtype's bytes; float8's are scaled. Made once.
std::vector<uint8_t>& RandomBytes(const Recipe& recipe, uint64_t seed) {
  static auto& made =
      *new std::map<std::tuple<DType, float, uint64_t>, std::vector<uint8_t>>();
  std::vector<uint8_t>& bytes = made[{recipe.dtype, recipe.scale, seed}];
  if (!bytes.empty()) return bytes;
  const Philox random(seed, /*stream=*/0);
  bytes.resize(kRandom * SizeOf(recipe.dtype));
  for (int64_t i = 0; i < kRandom; ++i) {
    const float x = random.Normal(i);
    if (recipe.dtype == DType::kF32) {
      reinterpret_cast<float*>(bytes.data())[i] = x;
    } else if (recipe.dtype == DType::kBf16) {
      reinterpret_cast<Bfloat16*>(bytes.data())[i] = ToBfloat16(x);
    } else {
      bytes[i] = float8::Encode(x * recipe.scale, recipe.dtype);
    }
  }
  return bytes;
}

absl::StatusOr<Tensor> RandomMatrix(const Stream& stream, const Recipe& recipe,
                                    int64_t rows, int64_t cols, uint64_t seed) {
  const Shape shape({rows, cols});
  OCTET_ASSIGN_OR_RETURN(
      Tensor matrix, Tensor::Allocate(recipe.dtype, shape, stream.device()));
  std::vector<uint8_t>& bytes = RandomBytes(recipe, seed);
  const int64_t n = shape.num_elements();
  const auto copy = [&](const void* from, Device device, int64_t at,
                        int64_t count) {
    const Shape part({count});
    void* to = matrix.as<uint8_t>() + at * SizeOf(recipe.dtype);
    return Copy(stream,
                TensorView(const_cast<void*>(from), recipe.dtype, part, device),
                TensorView(to, recipe.dtype, part, stream.device()));
  };
  int64_t made = std::min(n, kRandom);
  OCTET_RETURN_IF_ERROR(copy(bytes.data(), Device(), 0, made));
  for (; made < n; made = std::min(n, 2 * made)) {
    OCTET_RETURN_IF_ERROR(copy(matrix.as<uint8_t>(), stream.device(), made,
                               std::min(made, n - made)));
  }
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  return matrix;
}

absl::StatusOr<Tensor> Filled(const Stream& stream, const Shape& shape,
                              float value) {
  std::vector<float> values(shape.num_elements(), value);
  OCTET_ASSIGN_OR_RETURN(Tensor tensor,
                         Tensor::Allocate(DType::kF32, shape, stream.device()));
  OCTET_RETURN_IF_ERROR(
      Copy(stream, TensorView(values.data(), DType::kF32, shape), tensor));
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  return tensor;
}

absl::StatusOr<float8::Quantized> Operand(const Stream& stream,
                                          const Recipe& recipe,
                                          Granularity granularity, int64_t rows,
                                          int64_t cols, uint64_t seed) {
  float8::Quantized q;
  q.plan.dtype = recipe.dtype;
  q.plan.granularity = granularity;
  OCTET_ASSIGN_OR_RETURN(q.data,
                         RandomMatrix(stream, recipe, rows, cols, seed));
  if (!IsFloat8(recipe.dtype)) return q;
  OCTET_ASSIGN_OR_RETURN(
      q.scale, Filled(stream, float8::ScaleShape(granularity, rows, cols),
                      recipe.scale));
  const Shape reciprocals = float8::ReciprocalShape(granularity, rows, cols);
  if (reciprocals.num_elements() > 0) {
    OCTET_ASSIGN_OR_RETURN(q.reciprocal,
                           Filled(stream, reciprocals, 1.0f / recipe.scale));
  }
  return q;
}

float8::GemmOperand View(const float8::Quantized& q,
                         float8::Transpose transpose) {
  return IsFloat8(q.plan.dtype) ? float8::OperandOf(q, transpose)
                                : float8::OperandOf(q.data.view(), transpose);
}

using Work = std::function<absl::Status()>;

// Seconds of each of several works that are queued one behind the other. A GPU
// works on `lead` meanwhile, so that no time of queueing is in the first.
absl::Status TimeRow(const Stream& stream, const Work* lead,
                     const std::vector<const Work*>& works,
                     const std::vector<Event>& events,
                     std::vector<double>* times) {
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  if (lead != nullptr) OCTET_RETURN_IF_ERROR((*lead)());
  OCTET_RETURN_IF_ERROR(events[0].Record(stream));
  for (size_t i = 0; i < works.size(); ++i) {
    OCTET_RETURN_IF_ERROR((*works[i])());
    OCTET_RETURN_IF_ERROR(events[i + 1].Record(stream));
  }
  times->clear();
  for (size_t i = 0; i < works.size(); ++i) {
    OCTET_ASSIGN_OR_RETURN(times->emplace_back(),
                           SecondsBetween(events[i], events[i + 1]));
  }
  return absl::OkStatus();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

absl::StatusOr<std::vector<double>> TimeInTurns(const Stream& stream,
                                                const std::vector<Work>& works,
                                                double seconds) {
  const bool is_cpu = stream.device().kind == DeviceKind::kCpu;
  std::vector<const Work*> row;
  for (size_t round = 0; round < (is_cpu ? 1 : kMinTimes); ++round) {
    for (const Work& work : works) row.push_back(&work);
  }
  std::vector<Event> events;
  for (size_t i = 0; i <= row.size(); ++i) {
    OCTET_ASSIGN_OR_RETURN(events.emplace_back(),
                           Event::Create(stream.device()));
  }
  std::vector<std::vector<double>> times(works.size());
  std::vector<double> measured;
  double total = 0.0;
  while (times[0].size() < kMinTimes ||
         (total < seconds && times[0].size() < kMaxTimes)) {
    OCTET_RETURN_IF_ERROR(
        TimeRow(stream, is_cpu ? nullptr : row.back(), row, events, &measured));
    for (size_t i = 0; i < row.size(); ++i) {
      times[i % works.size()].push_back(measured[i]);
      total += measured[i];
    }
  }
  std::vector<double> medians;
  for (const std::vector<double>& some : times) medians.push_back(Median(some));
  return medians;
}

namespace {

// A graph keeps the algorithm that was chosen when it was captured.
absl::StatusOr<Graph> CaptureWith(const Stream& stream,
                                  float8::GemmAlgorithmMode mode,
                                  const Work& call, int calls) {
  OCTET_RETURN_IF_ERROR(float8::SetGemmAlgorithmMode(mode));
  OCTET_RETURN_IF_ERROR(call());
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  return Graph::Capture(stream, [call, calls]() -> absl::Status {
    for (int i = 0; i < calls; ++i) OCTET_RETURN_IF_ERROR(call());
    return absl::OkStatus();
  });
}

absl::StatusOr<MeasuredGemm> MeasureOnGpu(const Stream& stream,
                                          const Work& call, int calls,
                                          double seconds) {
  OCTET_ASSIGN_OR_RETURN(
      const Graph guess,
      CaptureWith(stream, float8::GemmAlgorithmMode::kHeuristic, call, calls));
  OCTET_ASSIGN_OR_RETURN(
      const Graph best,
      CaptureWith(stream, float8::GemmAlgorithmMode::kMeasure, call, calls));
  OCTET_ASSIGN_OR_RETURN(const std::vector<double> times,
                         TimeInTurns(stream,
                                     {[&] { return best.Launch(stream); },
                                      [&] { return guess.Launch(stream); }},
                                     seconds));
  return MeasuredGemm{times[0] / calls, times[1] / calls};
}

}  // namespace

namespace {

// Of the operands and the result, and what the CPU makes of them: operands
// widened to f32, f32 sums. Scales are too few to matter.
double CpuBytes(const Recipe& recipe, const GemmCase& gemm, DType out) {
  const double m = static_cast<double>(gemm.m);
  const double k = static_cast<double>(gemm.k);
  const double n = static_cast<double>(gemm.n);
  const double wider = recipe.dtype == DType::kF32 ? 0 : 4;
  const double sums = out == DType::kF32 ? 0 : 4;
  return (m * k + k * n) * (SizeOf(recipe.dtype) + wider) +
         m * n * (SizeOf(out) + sums);
}

// The system gives a process more than there is and kills it later; a GPU
// refuses by itself.
absl::Status CheckMemory(const Stream& stream, const Recipe& recipe,
                         const GemmCase& gemm, DType out) {
  if (stream.device().kind != DeviceKind::kCpu) return absl::OkStatus();
  const absl::StatusOr<double> available = AvailableMemory();
  const double needed = CpuBytes(recipe, gemm, out);
  // Not every system says.
  if (!available.ok() || needed <= *available) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "needs %.0f bytes, %.0f are available", needed, *available));
}

}  // namespace

absl::StatusOr<MeasuredGemm> MeasureGemm(const Stream& stream,
                                         const GemmCase& gemm,
                                         const MeasureOptions& options) {
  const Recipe recipe = RecipeOf(gemm.mode);
  OCTET_RETURN_IF_ERROR(CheckMemory(stream, recipe, gemm, options.out));
  OCTET_ASSIGN_OR_RETURN(
      const float8::Quantized x,
      Operand(stream, recipe, recipe.x, gemm.m, gemm.k, /*seed=*/1));
  OCTET_ASSIGN_OR_RETURN(
      const float8::Quantized w,
      Operand(stream, recipe, recipe.w, gemm.n, gemm.k, /*seed=*/2));
  OCTET_ASSIGN_OR_RETURN(
      const Tensor out,
      Tensor::Allocate(options.out, Shape({gemm.m, gemm.n}), stream.device()));
  float8::GemmOptions how;
  how.accumulation = recipe.accumulation;
  const float8::GemmOperand a = View(x, float8::Transpose::kNo);
  const float8::GemmOperand b = View(w, float8::Transpose::kYes);
  const Work call = [&] { return float8::Gemm(stream, a, b, how, out.view()); };
  // The first call picks an algorithm.
  if (stream.device().kind != DeviceKind::kCpu) {
    const double flops = 2.0 * static_cast<double>(gemm.m) * gemm.k * gemm.n;
    return MeasureOnGpu(stream, call,
                        flops < kLargeFlops ? kCallsOfSmall : kCallsOfLarge,
                        options.seconds);
  }
  OCTET_RETURN_IF_ERROR(call());
  OCTET_ASSIGN_OR_RETURN(const std::vector<double> times,
                         TimeInTurns(stream, {call}, options.seconds));
  return MeasuredGemm{times[0], std::nullopt};
}

}  // namespace octet::tools
