// SPDX-License-Identifier: Apache-2.0

// The end of the model: last norm, LM head and loss, a chunk of tokens at a
// time, so that the logits of a batch never exist whole.
//
// Each chunk's gradient is made right after its loss. Where the head is in
// float8, scales are those of a chunk.
#ifndef OCTET_MODELS_LLAMA_HEAD_H_
#define OCTET_MODELS_LLAMA_HEAD_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/recipe.h"
#include "models/llama/activations.h"
#include "models/llama/config.h"
#include "models/llama/projection.h"

namespace octet::models {

// The head's weights in the compute dtype, whole.
struct HeadTensors {
  TensorView norm;     // [hidden]
  TensorView lm_head;  // [vocab, hidden]; the embedding if tied
};

struct HeadGradients {
  TensorView norm;  // added to
  WeightGradient lm_head;
};

struct HeadContext {
  Stream stream;
  const LlamaConfig* config;
  HeadTensors weights;
  TensorView lm_head_amax;  // absent if it is not known
  int64_t version;
  SharedCasts* casts;
};

class Head {
 public:
  Head(const float8::Recipe& recipe, const LlamaConfig& config);

  Projection& projection() { return lm_head_; }

  // Normalises residual + scratch.delta into activations->in.
  absl::Status Normalise(const HeadContext& context, const TensorView& residual,
                         const Scratch& scratch, HeadActivations* activations);

  // Losses of all tokens into activations->losses.
  absl::Status Loss(const HeadContext& context, const TensorView& targets,
                    HeadActivations* activations);

  // Loss, and its gradient times grad_scale: into `gradients`, and written to
  // scratch.grad_x, with its amax, for the residual stream.
  absl::Status LossAndGradient(const HeadContext& context,
                               const TensorView& targets, double grad_scale,
                               const HeadGradients& gradients,
                               const Scratch& scratch,
                               HeadActivations* activations);

  // All logits: [tokens, vocab] of the statistic dtype.
  absl::Status Logits(const HeadContext& context, HeadActivations* activations,
                      const TensorView& out);

 private:
  absl::Status Cast(const HeadContext& context, const TensorView& in);

  Projection lm_head_;
  SharedInput in_;
};

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_HEAD_H_
