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
#include "models/llama/activations.h"
#include "models/llama/config.h"
#include "models/llama/projection.h"

namespace octet::models {

// What a pass over the blocks shares.
struct BlockContext {
  Stream stream;
  const LlamaConfig* config;
  TensorView rope_table;
  Scratch scratch;
};

class Block {
 public:
  Block(const float8::Recipe& recipe, const LlamaConfig& config, int64_t layer);

  // In the order of the parameters.
  std::vector<Projection*> projections();
  ActivationOptions::BlockNeeds needs() const;

  // `weights` are the unit's, in BlockParam's order; `version` the store's.
  // Reads activations->x when `residual` is absent (the first block); else x =
  // residual + scratch.delta. Leaves what the MLP adds in scratch.delta.
  absl::Status Forward(const BlockContext& context,
                       absl::Span<const TensorView> weights, int64_t version,
                       const TensorView& residual,
                       BlockActivations* activations);

  // scratch.grad_x holds the gradient of the block's output, and then of its
  // input. Adds to the unit's gradients. Activations are overwritten.
  absl::Status Backward(const BlockContext& context,
                        absl::Span<const TensorView> weights, int64_t version,
                        absl::Span<const TensorView> gradients,
                        BlockActivations* activations);

 private:
  absl::Status Prepare(const Stream& stream,
                       absl::Span<const TensorView> weights, int64_t version);
  absl::Status ForwardMlp(const BlockContext& context,
                          absl::Span<const TensorView> weights,
                          BlockActivations* activations);
  absl::Status BackwardMlp(const BlockContext& context,
                           absl::Span<const TensorView> weights,
                           absl::Span<const TensorView> gradients,
                           BlockActivations* activations);

  Projection q_, k_, v_, o_, gate_, up_, down_;
  SharedInput attention_in_, o_in_, mlp_in_, down_in_;
};

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_BLOCK_H_
