// SPDX-License-Identifier: Apache-2.0

// One transformer block: attention, then the MLP, each behind a norm and added
// to the residual stream.
//
//   x = residual + delta;  mlp_x = x + o_proj(attention(norm(x)))
//   the next block's delta = down_proj(swiglu(norm(mlp_x)))
//
// The last addition is left to the next norm, which does it in one pass.
#ifndef OCTET_MODELS_LLAMA_BLOCK_H_
#define OCTET_MODELS_LLAMA_BLOCK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/recipe.h"
#include "fsdp/param_store.h"
#include "models/llama/activations.h"
#include "models/llama/config.h"
#include "models/llama/projection.h"

namespace octet::models {

// The inputs of a block's projections, in the forms that these read.
struct BlockInputs {
  SharedInput attention_in;  // of q, k, v
  SharedInput o_in;
  SharedInput mlp_in;  // of gate, up
  SharedInput down_in;
};

// What a pass over the blocks shares.
struct BlockContext {
  Stream stream;
  const LlamaConfig* config;
  TensorView rope_table;
  Scratch scratch;
  BlockInputs* inputs;  // of what blocks do not keep
  SharedCasts* casts;
  bool deterministic = true;  // see AttentionBackwardArgs
};

// A unit of the store.
struct BlockWeights {
  absl::Span<const TensorView> weights;
  absl::Span<const TensorView> amaxes;  // empty where they are not known
  int64_t version = 0;
};

class Block {
 public:
  Block(const float8::Recipe& recipe, const LlamaConfig& config, int64_t layer);

  // In the order of the parameters.
  std::vector<Projection*> projections();
  ActivationOptions::BlockNeeds needs() const;
  // Whether it is spared a read of scratch.grad_x by scratch.grad_x_amax.
  bool wants_grad_x_amax() const {
    return o_.wants_gradient_amax() || down_.wants_gradient_amax();
  }

  // What it keeps of a forward pass; all by default.
  void set_keep(Keep keep) { keep_ = keep; }

  // Whether vectors are all that it reads of its weights in this version.
  bool IsPrepared(int64_t version);

  // `weights` are the unit's, in BlockParam's order.
  // Reads activations->x when `residual` is absent (the first block); else x =
  // residual + scratch.delta. Leaves what the MLP adds in scratch.delta.
  absl::Status Forward(const BlockContext& context, const BlockWeights& weights,
                       const TensorView& residual,
                       BlockActivations* activations);

  // scratch.grad_x, with its amax, holds the gradient of the block's output,
  // and then of its input. Adds to the unit's gradients. Activations are
  // overwritten.
  absl::Status Backward(const BlockContext& context,
                        const BlockWeights& weights,
                        const fsdp::UnitGradients& gradients,
                        BlockActivations* activations);

 private:
  absl::Status Prepare(const Stream& stream, const BlockWeights& weights);
  // Up to what attention adds, in scratch.delta; with `residual`, x is the sum.
  absl::Status ForwardAttention(const BlockContext& context,
                                absl::Span<const TensorView> weights,
                                const TensorView& residual,
                                BlockActivations* activations);
  // Up to down_in's forms; `adds`: mlp_x is x + scratch.delta, else it is
  // there.
  absl::Status ForwardMlp(const BlockContext& context,
                          absl::Span<const TensorView> weights, bool adds,
                          BlockActivations* activations);
  // What was not kept, again.
  absl::Status Recompute(const BlockContext& context,
                         absl::Span<const TensorView> weights,
                         BlockActivations* activations);
  absl::Status BackwardMlp(const BlockContext& context,
                           absl::Span<const TensorView> weights,
                           const fsdp::UnitGradients& gradients,
                           BlockActivations* activations);
  absl::Status BackwardAttention(const BlockContext& context,
                                 absl::Span<const TensorView> weights,
                                 const fsdp::UnitGradients& gradients,
                                 BlockActivations* activations);

  // The inputs of either half: its own if it keeps them.
  BlockInputs& AttentionInputs(const BlockContext& context) {
    return keep_ == Keep::kInput ? *context.inputs : inputs_;
  }
  BlockInputs& MlpInputs(const BlockContext& context) {
    return keep_ == Keep::kAll ? inputs_ : *context.inputs;
  }

  Projection q_, k_, v_, o_, gate_, up_, down_;
  BlockInputs inputs_;
  Keep keep_ = Keep::kAll;
};

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_BLOCK_H_
