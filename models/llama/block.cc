// SPDX-License-Identifier: Apache-2.0
#include "models/llama/block.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/layers/attention.h"
#include "models/layers/rms_norm.h"
#include "models/layers/rope.h"
#include "models/layers/swiglu.h"
#include "models/llama/gradients.h"
#include "models/llama/params.h"
#include "models/llama/quantized_layers.h"

namespace octet::models {
namespace {

using float8::GradientMode;

Projection MakeProjection(const float8::Recipe& recipe, int64_t layer,
                          const char* name, int64_t n, int64_t k) {
  return Projection(recipe, absl::StrCat("model.layers.", layer, ".", name), n,
                    k);
}

// [batch, length, heads, head_dim] as rows of tokens.
TensorView Rows(const TensorView& view) {
  const Shape& s = view.shape();
  return view.Reshaped(Shape({s.dim(0) * s.dim(1), s.dim(2) * s.dim(3)}));
}

}  // namespace

Block::Block(const float8::Recipe& recipe, const LlamaConfig& c, int64_t layer)
    : q_(MakeProjection(recipe, layer, "self_attn.q_proj",
                        c.num_heads * c.head_dim, c.hidden_size)),
      k_(MakeProjection(recipe, layer, "self_attn.k_proj",
                        c.num_kv_heads * c.head_dim, c.hidden_size)),
      v_(MakeProjection(recipe, layer, "self_attn.v_proj",
                        c.num_kv_heads * c.head_dim, c.hidden_size)),
      o_(MakeProjection(recipe, layer, "self_attn.o_proj", c.hidden_size,
                        c.num_heads * c.head_dim)),
      gate_(MakeProjection(recipe, layer, "mlp.gate_proj", c.intermediate_size,
                           c.hidden_size)),
      up_(MakeProjection(recipe, layer, "mlp.up_proj", c.intermediate_size,
                         c.hidden_size)),
      down_(MakeProjection(recipe, layer, "mlp.down_proj", c.hidden_size,
                           c.intermediate_size)) {}

std::vector<Projection*> Block::projections() {
  return {&q_, &k_, &v_, &o_, &gate_, &up_, &down_};
}

ActivationOptions::BlockNeeds Block::needs() const {
  ActivationOptions::BlockNeeds needs;
  needs.attention_in = q_.reads_input_again() || k_.reads_input_again() ||
                       v_.reads_input_again();
  needs.mlp_in = gate_.reads_input_again() || up_.reads_input_again();
  needs.down_in = down_.reads_input_again();
  needs.keep = keep_;
  return needs;
}

bool Block::IsPrepared(int64_t version) {
  for (const Projection* projection : projections()) {
    if (!projection->IsPrepared(version)) return false;
  }
  return true;
}

absl::Status Block::Prepare(const Stream& stream, const BlockWeights& unit) {
  const std::vector<Projection*> all = projections();
  constexpr BlockParam kParams[] = {kQuery, kKey, kValue, kOutput,
                                    kGate,  kUp,  kDown};
  for (size_t i = 0; i < all.size(); ++i) {
    const TensorView amax =
        unit.amaxes.empty() ? TensorView() : unit.amaxes[kParams[i]];
    OCTET_RETURN_IF_ERROR(
        all[i]->Prepare(stream, unit.weights[kParams[i]], amax, unit.version));
  }
  return absl::OkStatus();
}

absl::Status Block::Forward(const BlockContext& context,
                            const BlockWeights& unit,
                            const TensorView& residual, BlockActivations* a) {
  OCTET_RETURN_IF_ERROR(Prepare(context.stream, unit));
  OCTET_RETURN_IF_ERROR(ForwardAttention(context, unit.weights, residual, a));
  OCTET_RETURN_IF_ERROR(ForwardMlp(context, unit.weights, /*adds=*/true, a));
  SharedInput& down_in = MlpInputs(context).down_in;
  OCTET_RETURN_IF_ERROR(
      down_in.Forward(context.stream, down_, context.scratch.delta));
  down_in.EndForward(context.casts);
  return absl::OkStatus();
}

absl::Status Block::ForwardAttention(const BlockContext& context,
                                     absl::Span<const TensorView> weights,
                                     const TensorView& residual,
                                     BlockActivations* a) {
  const Stream& stream = context.stream;
  BlockInputs& inputs = AttentionInputs(context);
  RmsNormForwardArgs norm;
  norm.weight = weights[kInputNorm];
  norm.epsilon = context.config->rms_norm_eps;
  norm.y = a->attention_in;
  norm.rstd = a->attention_rstd;
  norm.amax = context.scratch.amax;
  norm.residual = a->x;
  if (residual.present()) {
    norm.residual = residual;
    norm.delta = context.scratch.delta;
    norm.x = a->x;
  }
  SharedInput& in = inputs.attention_in;
  OCTET_RETURN_IF_ERROR(
      NormaliseFor(stream, norm, {{&q_, &k_, &v_}, &in, context.casts}));
  OCTET_RETURN_IF_ERROR(in.Forward(stream, q_, Rows(a->q)));
  OCTET_RETURN_IF_ERROR(in.Forward(stream, k_, Rows(a->k)));
  OCTET_RETURN_IF_ERROR(in.Forward(stream, v_, Rows(a->v)));
  in.EndForward(context.casts);
  for (const TensorView& turned : {a->q, a->k}) {
    OCTET_RETURN_IF_ERROR(
        Rope(stream, context.rope_table, RopeDirection::kForward, turned));
  }
  OCTET_RETURN_IF_ERROR(
      AttentionForward(stream, {a->q, a->k, a->v, a->o, a->log_sum_exp}));
  OCTET_RETURN_IF_ERROR(inputs.o_in.Prepare(stream, Rows(a->o), TensorView(),
                                            {&o_}, context.casts));
  OCTET_RETURN_IF_ERROR(inputs.o_in.Forward(stream, o_, context.scratch.delta));
  inputs.o_in.EndForward(context.casts);
  return absl::OkStatus();
}

absl::Status Block::ForwardMlp(const BlockContext& context,
                               absl::Span<const TensorView> weights, bool adds,
                               BlockActivations* a) {
  const Stream& stream = context.stream;
  BlockInputs& inputs = MlpInputs(context);
  RmsNormForwardArgs norm;
  norm.residual = adds ? a->x : a->mlp_x;
  if (adds) {
    norm.delta = context.scratch.delta;
    norm.x = a->mlp_x;
  }
  norm.weight = weights[kPostAttentionNorm];
  norm.epsilon = context.config->rms_norm_eps;
  norm.y = a->mlp_in;
  norm.rstd = a->mlp_rstd;
  norm.amax = context.scratch.amax;
  OCTET_RETURN_IF_ERROR(NormaliseFor(
      stream, norm, {{&gate_, &up_}, &inputs.mlp_in, context.casts}));
  OCTET_RETURN_IF_ERROR(inputs.mlp_in.Forward(stream, gate_, a->gate));
  OCTET_RETURN_IF_ERROR(inputs.mlp_in.Forward(stream, up_, a->up));
  inputs.mlp_in.EndForward(context.casts);
  return ActivateFor(stream, {a->gate, a->up, a->down_in, context.scratch.amax},
                     {{&down_}, &inputs.down_in, context.casts});
}

absl::Status Block::Recompute(const BlockContext& context,
                              absl::Span<const TensorView> weights,
                              BlockActivations* a) {
  if (keep_ == Keep::kAll) return absl::OkStatus();
  const bool all = keep_ == Keep::kInput;
  if (all) {
    OCTET_RETURN_IF_ERROR(ForwardAttention(context, weights, TensorView(), a));
  }
  OCTET_RETURN_IF_ERROR(ForwardMlp(context, weights, /*adds=*/all, a));
  context.inputs->down_in.EndForward(context.casts);
  return absl::OkStatus();
}

absl::Status Block::BackwardMlp(const BlockContext& context,
                                absl::Span<const TensorView> weights,
                                const fsdp::UnitGradients& gradients,
                                BlockActivations* a) {
  const Stream& stream = context.stream;
  const Scratch& s = context.scratch;
  const BlockInputs& inputs = MlpInputs(context);
  OCTET_RETURN_IF_ERROR(inputs.down_in.Backward(
      stream, down_, {s.grad_x, s.grad_x_amax}, s.grad_down_in,
      GradientMode::kOverwrite, GradientOf(gradients, kDown), context.casts));
  GateGradients gate_gradients;
  OCTET_RETURN_IF_ERROR(ActivateBackwardFor(
      stream,
      {a->gate, a->up, s.grad_down_in, a->gate, a->up, s.amax, s.other_amax},
      gate_, up_, context.casts, &gate_gradients));
  OCTET_RETURN_IF_ERROR(inputs.mlp_in.Backward(
      stream, gate_, gate_gradients.gate, s.grad_in, GradientMode::kOverwrite,
      GradientOf(gradients, kGate), context.casts));
  OCTET_RETURN_IF_ERROR(inputs.mlp_in.Backward(
      stream, up_, gate_gradients.up, s.grad_in, GradientMode::kAccumulate,
      GradientOf(gradients, kUp), context.casts));
  OCTET_ASSIGN_OR_RETURN(const TensorView dweight,
                         ZeroIfFresh(stream, gradients, kPostAttentionNorm));
  return RmsNormBackward(
      stream, {a->mlp_x, weights[kPostAttentionNorm], a->mlp_rstd, s.grad_in,
               s.grad_x, dweight, s.grad_x_amax});
}

absl::Status Block::BackwardAttention(const BlockContext& context,
                                      absl::Span<const TensorView> weights,
                                      const fsdp::UnitGradients& gradients,
                                      BlockActivations* a) {
  const Stream& stream = context.stream;
  const Scratch& s = context.scratch;
  const BlockInputs& inputs = AttentionInputs(context);
  OCTET_RETURN_IF_ERROR(inputs.o_in.Backward(
      stream, o_, {s.grad_x, s.grad_x_amax}, Rows(s.grad_o),
      GradientMode::kOverwrite, GradientOf(gradients, kOutput), context.casts));
  AttentionBackwardArgs attention = {
      {a->q, a->k, a->v, a->o, a->log_sum_exp}, s.grad_o, s.dq, s.dk, s.dv};
  attention.deterministic = context.deterministic;
  OCTET_RETURN_IF_ERROR(AttentionBackward(stream, attention));
  TensorView dq_amax, dk_amax;
  if (q_.wants_gradient_amax()) dq_amax = s.amax;
  if (k_.wants_gradient_amax()) dk_amax = s.other_amax;
  OCTET_RETURN_IF_ERROR(Rope(stream, context.rope_table,
                             RopeDirection::kBackward, s.dq, dq_amax));
  OCTET_RETURN_IF_ERROR(Rope(stream, context.rope_table,
                             RopeDirection::kBackward, s.dk, dk_amax));
  const SharedInput& in = inputs.attention_in;
  OCTET_RETURN_IF_ERROR(in.Backward(
      stream, q_, {Rows(s.dq), dq_amax}, s.grad_in, GradientMode::kOverwrite,
      GradientOf(gradients, kQuery), context.casts));
  OCTET_RETURN_IF_ERROR(in.Backward(
      stream, k_, {Rows(s.dk), dk_amax}, s.grad_in, GradientMode::kAccumulate,
      GradientOf(gradients, kKey), context.casts));
  OCTET_RETURN_IF_ERROR(in.Backward(
      stream, v_, {Rows(s.dv)}, s.grad_in, GradientMode::kAccumulate,
      GradientOf(gradients, kValue), context.casts));
  OCTET_ASSIGN_OR_RETURN(const TensorView dweight,
                         ZeroIfFresh(stream, gradients, kInputNorm));
  return RmsNormBackward(stream, {a->x, weights[kInputNorm], a->attention_rstd,
                                  s.grad_in, s.grad_x, dweight, s.grad_x_amax});
}

absl::Status Block::Backward(const BlockContext& context,
                             const BlockWeights& unit,
                             const fsdp::UnitGradients& gradients,
                             BlockActivations* a) {
  OCTET_RETURN_IF_ERROR(Prepare(context.stream, unit));
  OCTET_RETURN_IF_ERROR(Recompute(context, unit.weights, a));
  OCTET_RETURN_IF_ERROR(BackwardMlp(context, unit.weights, gradients, a));
  return BackwardAttention(context, unit.weights, gradients, a);
}

}  // namespace octet::models
