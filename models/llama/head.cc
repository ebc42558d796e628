// SPDX-License-Identifier: Apache-2.0
#include "models/llama/head.h"

#include <algorithm>

#include "base/status_macros.h"
#include "models/layers/cross_entropy.h"
#include "models/layers/rms_norm.h"

namespace octet::models {
namespace {

// `count` elements of a vector, from `begin`.
TensorView Slice(const TensorView& vector, int64_t begin, int64_t count) {
  return vector.Reshaped(Shape({vector.num_elements(), 1}))
      .RowSlice(begin, count)
      .Reshaped(Shape({count}));
}

}  // namespace

Head::Head(const float8::Recipe& recipe, const LlamaConfig& config)
    : lm_head_(recipe, "lm_head", config.vocab_size, config.hidden_size) {}

absl::Status Head::Normalise(const HeadContext& context,
                             const TensorView& residual, const Scratch& scratch,
                             HeadActivations* a) {
  OCTET_RETURN_IF_ERROR(
      lm_head_.Prepare(context.stream, context.weights.lm_head,
                       context.lm_head_amax, context.version));
  RmsNormForwardArgs norm;
  norm.residual = residual;
  norm.delta = scratch.delta;
  norm.weight = context.weights.norm;
  norm.epsilon = context.config->rms_norm_eps;
  norm.x = a->x;
  norm.y = a->in;
  norm.rstd = a->rstd;
  return RmsNormForward(context.stream, norm);
}

absl::Status Head::Cast(const HeadContext& context, const TensorView& in) {
  return in_.Prepare(context.stream, in, TensorView(), {&lm_head_},
                     context.casts);
}

absl::Status Head::Loss(const HeadContext& context, const TensorView& targets,
                        HeadActivations* a) {
  const int64_t tokens = a->in.rows();
  for (int64_t begin = 0; begin < tokens; begin += a->logits.rows()) {
    const int64_t count = std::min(a->logits.rows(), tokens - begin);
    OCTET_RETURN_IF_ERROR(Cast(context, a->in.RowSlice(begin, count)));
    CrossEntropyArgs loss;
    loss.logits = a->logits.RowSlice(0, count);
    loss.targets = Slice(targets, begin, count);
    loss.losses = Slice(a->losses, begin, count);
    OCTET_RETURN_IF_ERROR(in_.Forward(context.stream, lm_head_, loss.logits));
    OCTET_RETURN_IF_ERROR(CrossEntropy(context.stream, loss));
  }
  return absl::OkStatus();
}

absl::Status Head::LossAndGradient(const HeadContext& context,
                                   const TensorView& targets, double grad_scale,
                                   const HeadGradients& gradients,
                                   const Scratch& scratch, HeadActivations* a) {
  const int64_t tokens = a->in.rows();
  WeightGradient dw = gradients.lm_head;
  for (int64_t begin = 0; begin < tokens; begin += a->logits.rows()) {
    const int64_t count = std::min(a->logits.rows(), tokens - begin);
    OCTET_RETURN_IF_ERROR(Cast(context, a->in.RowSlice(begin, count)));
    CrossEntropyArgs loss;
    loss.logits = a->logits.RowSlice(0, count);
    loss.targets = Slice(targets, begin, count);
    loss.grad_scale = grad_scale;
    loss.losses = Slice(a->losses, begin, count);
    loss.dlogits = a->dlogits.RowSlice(0, count);
    OCTET_RETURN_IF_ERROR(in_.Forward(context.stream, lm_head_, loss.logits));
    OCTET_RETURN_IF_ERROR(CrossEntropy(context.stream, loss));
    OCTET_RETURN_IF_ERROR(in_.Backward(context.stream, lm_head_, {loss.dlogits},
                                       scratch.grad_in.RowSlice(begin, count),
                                       float8::GradientMode::kOverwrite, dw,
                                       context.casts));
    dw.mode = float8::GradientMode::kAccumulate;
  }
  OCTET_RETURN_IF_ERROR(FillZero(context.stream, scratch.grad_x));
  return RmsNormBackward(context.stream,
                         {a->x, context.weights.norm, a->rstd, scratch.grad_in,
                          scratch.grad_x, gradients.norm, scratch.grad_x_amax});
}

absl::Status Head::Logits(const HeadContext& context, HeadActivations* a,
                          const TensorView& out) {
  OCTET_RETURN_IF_ERROR(Cast(context, a->in));
  return in_.Forward(context.stream, lm_head_, out);
}

}  // namespace octet::models
