// SPDX-License-Identifier: Apache-2.0

// Training tokens per second of the tiny preset, without the optimizer; percent
// of the rate that one large f32 matrix multiplication reaches here is for the
// reader to take from //float8:gemm_benchmark.
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "float8/recipe.h"
#include "fsdp/whole_param_store.h"
#include "models/layers/test_tensors.h"
#include "models/llama/model.h"
#include "models/llama/params.h"

namespace octet::models {
namespace {

void Step(benchmark::State& state, const std::string& recipe, DType dtype) {
  constexpr int64_t kBatch = 8;
  constexpr int64_t kLength = 256;
  const LlamaConfig config = *LlamaPresetConfig("tiny");
  auto store =
      *fsdp::WholeParamStore::Create(Stream(), UnitSpecs(config), {dtype});
  if (!InitParams(Stream(), config, 1, store.get()).ok()) return;
  LlamaOptions options;
  options.recipe = *float8::NamedRecipe(recipe);
  options.compute_dtype = dtype;
  auto model = *Llama::Create(Stream(), config, options, store.get());
  std::vector<int32_t> ids(kBatch * kLength);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = (i * i + 3) % 256;
  const Tensor tokens = MakeTensor(Shape({kBatch, kLength}), ids);
  for (auto _ : state) {
    // As after an optimizer step: weights are cast again.
    if (!store->WeightsChanged().ok() ||
        !model->ForwardBackward(tokens, tokens, 1e-3).ok()) {
      state.SkipWithError("the step failed");
      break;
    }
  }
  const double per_step =
      static_cast<double>(kBatch * kLength) * FlopsPerToken(config, kLength);
  state.SetItemsProcessed(state.iterations() * kBatch * kLength);
  state.counters["GFLOP/s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * per_step * 1e-9,
      benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(Step, bf16_in_f32, "bf16", DType::kF32)->UseRealTime();
BENCHMARK_CAPTURE(Step, bf16, "bf16", DType::kBf16)->UseRealTime();
BENCHMARK_CAPTURE(Step, tensorwise, "tensorwise", DType::kBf16)->UseRealTime();
BENCHMARK_CAPTURE(Step, rowwise, "rowwise", DType::kBf16)->UseRealTime();

}  // namespace
}  // namespace octet::models
