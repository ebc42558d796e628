// SPDX-License-Identifier: Apache-2.0

// A Llama: forward and backward by hand, on the weights of a ParamStore.
//
//   tokens, targets i32 [batch, length]; kIgnoreIndex (-100) as a target counts
//   for nothing
//
// The residual stream and all activations are of the compute dtype; statistics,
// logits and losses are f32 or wider; weight gradients are the store's. Linear
// layers run in float8 where the recipe says so, by their Hugging Face names
// (model.layers.0.mlp.up_proj, lm_head). Weights are cast once per version of
// the store, an input once for all layers that read it. Memory for activations
// is allocated when a batch is larger than any before; what blocks do not keep
// (LlamaOptions::keep) is computed again by backward. The same calls give the
// same bits.
//
// Each call acquires one unit at a time, and a tied embedding for the head.
#ifndef OCTET_MODELS_LLAMA_MODEL_H_
#define OCTET_MODELS_LLAMA_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/delayed_scaling.h"
#include "float8/recipe.h"
#include "fsdp/param_store.h"
#include "models/llama/activations.h"
#include "models/llama/block.h"
#include "models/llama/config.h"
#include "models/llama/head.h"

namespace octet::models {

struct LlamaOptions {
  float8::Recipe recipe;
  // f32, bf16, or f64 for gradient checks (no float8 then); that of the
  // weights that the store gives.
  DType compute_dtype = DType::kBf16;
  // Tokens whose logits exist at one time; 0 picks a number by the vocabulary.
  int64_t loss_chunk = 0;
  // Layer by layer; none: all is kept.
  std::vector<Keep> keep = {};
  // On a GPU the same calls give the same bits only with this.
  bool deterministic = true;
  // For activations, where it is enough; the model has its own otherwise.
  TensorView memory = {};
};

// Activations for a batch of [batch, length] tokens, the float8 forms of inputs
// not counted; `bytes` is what activation_bytes() will be.
ActivationLayout LayOutActivations(const LlamaConfig& config,
                                   const LlamaOptions& options,
                                   DeviceKind device, int64_t batch,
                                   int64_t length);

// By name, such as "model.layers.0.mlp.up_proj.input"; newest first.
using ScalingState = std::map<std::string, std::vector<float>>;

class Llama {
 public:
  // InvalidArgument for a config or recipe that cannot be, or a filter word
  // that no layer's name contains; FailedPrecondition if the store holds other
  // parameters. The store must outlive the model.
  static absl::StatusOr<std::unique_ptr<Llama>> Create(
      const Stream& stream, const LlamaConfig& config,
      const LlamaOptions& options, fsdp::ParamStore* store);

  const LlamaConfig& config() const { return config_; }

  // Adds grad_scale times the gradient of the summed loss to the store's
  // gradients; returns the summed loss. OutOfRange, before anything is changed,
  // names a token or target outside the vocabulary.
  absl::StatusOr<double> ForwardBackward(const TensorView& tokens,
                                         const TensorView& targets,
                                         double grad_scale);

  // The summed loss alone.
  absl::StatusOr<double> Loss(const TensorView& tokens,
                              const TensorView& targets);

  // out [batch, length, vocab] f32 (f64 for f64), overwritten.
  absl::Status Logits(const TensorView& tokens, const TensorView& out);

  // Delayed scaling: rolls the histories, once for each optimizer step; or
  // forgets what was seen since, for a step that does not count and after an
  // evaluation.
  absl::Status AdvanceScaling();
  absl::Status DiscardScaling();

  // Histories that are not empty; none but under delayed scaling. Restoring
  // resets the others: all with {}. InvalidArgument for an unknown name.
  absl::StatusOr<ScalingState> SaveScaling();
  absl::Status RestoreScaling(const ScalingState& state);

  // The table of all linear layers, float8 or not, and why.
  absl::StatusOr<std::string> DescribeLayers();

  int64_t activation_bytes() const { return activations_.num_bytes(); }

 private:
  Llama(const Stream& stream, const LlamaConfig& config,
        const LlamaOptions& options, fsdp::ParamStore* store);

  std::vector<Projection*> Projections();
  void VisitScaling(
      const std::function<void(const std::string&, float8::DelayedScale*)>& f);
  absl::Status CheckIds(const char* what, const TensorView& ids,
                        const Shape& shape) const;
  absl::Status Plan(const TensorView& tokens);
  absl::Status ForwardBlocks(const TensorView& tokens);
  absl::Status BackwardBlocks(const TensorView& tokens);
  // Calls f with the head's weights, acquired.
  absl::Status WithHead(
      const std::function<absl::Status(const HeadContext&)>& f);
  absl::StatusOr<HeadGradients> TakeHeadGradients();
  absl::StatusOr<double> SumLosses();
  BlockContext MakeContext();
  BlockWeights WeightsOf(int64_t block,
                         absl::Span<const TensorView> weights) const;

  Stream stream_;
  LlamaConfig config_;
  LlamaOptions options_;
  fsdp::ParamStore* store_;
  std::vector<Block> blocks_;
  Head head_;
  BlockInputs shared_inputs_;
  SharedCasts casts_;
  Activations activations_;
  Tensor rope_table_;
};

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_MODEL_H_
