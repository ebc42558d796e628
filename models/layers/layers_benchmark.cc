// SPDX-License-Identifier: Apache-2.0

// The embedding, the rotation and the loss at the shapes of an 8B Llama.
// $OCTET_TEST_DEVICE chooses the device.
//
// GB/s counts what a call must read and write; copy_% is that in percent of a
// device copy's bytes read and written, measured in the same run.
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/philox.h"
#include "benchmark/benchmark.h"
#include "models/layers/cross_entropy.h"
#include "models/layers/embedding.h"
#include "models/layers/rope.h"
#include "testing/benchmark_device.h"
#include "testing/copy_report.h"

namespace octet::models {
namespace {

constexpr int64_t kVocab = 128256;
constexpr int64_t kHidden = 4096;

const Stream& TheStream() {
  static const Stream stream = testing::BenchmarkStream().value();
  return stream;
}

Tensor Random(DType dtype, const Shape& shape, uint64_t seed) {
  return testing::BenchmarkTensor(TheStream(), dtype, shape, seed).value();
}

void Time(benchmark::State& state, double bytes,
          const std::function<absl::Status()>& work) {
  for (auto _ : state) {
    const absl::StatusOr<double> seconds =
        testing::DeviceSeconds(TheStream(), work);
    if (!testing::ReportBesideCopy(TheStream(), bytes, seconds, &state)) return;
    state.counters["us"] = *seconds * 1e6;
  }
}

enum class Ids { kUniform, kLikeText, kOne };

// Below the vocabulary; like text: the k-th of them as often as 1 / k.
Tensor Tokens(int64_t count, Ids ids) {
  const Tensor host = Tensor::Allocate(DType::kI32, Shape({count})).value();
  const Philox random(1, 2);
  for (int64_t i = 0; i < count; ++i) {
    const double u = random.Uniform(static_cast<uint64_t>(i));
    host.as<int32_t>()[i] = static_cast<int32_t>(
        ids == Ids::kOne        ? 7
        : ids == Ids::kLikeText ? std::pow(static_cast<double>(kVocab), u) - 1
                                : u * static_cast<double>(kVocab));
  }
  Tensor tokens =
      Tensor::Allocate(DType::kI32, Shape({count}), TheStream().device())
          .value();
  if (!Copy(TheStream(), host, tokens).ok() || !TheStream().Synchronize().ok())
    std::abort();
  return tokens;
}

void RunEmbedding(benchmark::State& state, int64_t count, Ids ids) {
  const Tensor tokens = Tokens(count, ids);
  const Tensor table = Random(DType::kBf16, Shape({kVocab, kHidden}), 1);
  const Tensor x = Random(DType::kBf16, Shape({count, kHidden}), 2);
  Time(state, 4.0 * static_cast<double>(count * kHidden),
       [&] { return EmbeddingForward(TheStream(), tokens, table, x); });
}

// As many bytes as without tokens that come again, whose rows of the table are
// read and written once.
void RunEmbeddingBackward(benchmark::State& state, int64_t count, Ids ids,
                          DType dtype) {
  const Tensor tokens = Tokens(count, ids);
  const Tensor dtable = Random(dtype, Shape({kVocab, kHidden}), 1);
  const Tensor dx = Random(DType::kBf16, Shape({count, kHidden}), 2);
  const double each = 2.0 + 2.0 * static_cast<double>(SizeOf(dtype));
  Time(state, each * static_cast<double>(count * kHidden),
       [&] { return EmbeddingBackward(TheStream(), tokens, dx, dtable); });
}

enum class WithAmax : uint8_t { kNo, kYes };

void RunRope(benchmark::State& state, int64_t heads, DType dtype,
             WithAmax with_amax) {
  RopeOptions options;
  options.head_dim = 128;
  const Shape shape({1, 8192, heads, options.head_dim});
  const Tensor table =
      RopeTable(TheStream(), options, shape.dim(1), dtype).value();
  const Tensor x = Random(dtype, shape, 1);
  const Tensor memory =
      Tensor::Zeros(TheStream(), DType::kF32, Shape({1, 1})).value();
  TensorView amax;
  if (with_amax == WithAmax::kYes) amax = memory;
  const double bytes = 2.0 * static_cast<double>(x.view().num_bytes()) +
                       static_cast<double>(table.view().num_bytes());
  Time(state, bytes, [&] {
    return Rope(TheStream(), table, RopeDirection::kForward, x, amax);
  });
}

void RunCrossEntropy(benchmark::State& state, int64_t rows, DType gradient) {
  const Shape shape({rows, kVocab});
  const Tensor logits = Random(DType::kF32, shape, 1);
  const Tensor targets = Tokens(rows, Ids::kUniform);
  const Tensor losses =
      Tensor::Zeros(TheStream(), DType::kF64, Shape({rows})).value();
  const Tensor apart =
      gradient == DType::kBf16
          ? Random(gradient, shape, 2)
          : Tensor::Zeros(TheStream(), DType::kF32, Shape({0})).value();
  const TensorView dlogits =
      gradient == DType::kBf16 ? apart.view() : logits.view();
  const double each = 4.0 + static_cast<double>(SizeOf(gradient));
  Time(state, each * static_cast<double>(shape.num_elements()), [&] {
    return CrossEntropy(TheStream(), {logits, targets, 1e-4, losses, dlogits});
  });
}

template <typename Run, typename... Arguments>
void Register(const char* name, Run run, Arguments... arguments) {
  benchmark::RegisterBenchmark(name, run, arguments...)
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMicrosecond);
}

const bool kRegistered = [] {
  constexpr DType kF32 = DType::kF32, kBf16 = DType::kBf16;
  Register("embedding/8192/uniform", &RunEmbedding, 8192, Ids::kUniform);
  Register("embedding/8192/like_text", &RunEmbedding, 8192, Ids::kLikeText);
  Register("embedding_backward/8192/uniform/f32", &RunEmbeddingBackward, 8192,
           Ids::kUniform, kF32);
  Register("embedding_backward/8192/like_text/f32", &RunEmbeddingBackward, 8192,
           Ids::kLikeText, kF32);
  Register("embedding_backward/8192/uniform/bf16", &RunEmbeddingBackward, 8192,
           Ids::kUniform, kBf16);
  Register("embedding_backward/8192/like_text/bf16", &RunEmbeddingBackward,
           8192, Ids::kLikeText, kBf16);
  Register("embedding_backward/8192/one/f32", &RunEmbeddingBackward, 8192,
           Ids::kOne, kF32);
  constexpr WithAmax kNo = WithAmax::kNo, kYes = WithAmax::kYes;
  Register("rope/8192x32x128/bf16", &RunRope, 32, kBf16, kNo);
  Register("rope/8192x32x128/bf16/amax", &RunRope, 32, kBf16, kYes);
  Register("rope/8192x8x128/bf16", &RunRope, 8, kBf16, kNo);
  Register("rope/8192x8x128/bf16/amax", &RunRope, 8, kBf16, kYes);
  Register("rope/8192x32x128/f32", &RunRope, 32, kF32, kNo);
  Register("cross_entropy/2048x128256/f32_in_place", &RunCrossEntropy, 2048,
           kF32);
  Register("cross_entropy/2048x128256/bf16", &RunCrossEntropy, 2048, kBf16);
  return true;
}();

}  // namespace
}  // namespace octet::models
