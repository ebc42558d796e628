// SPDX-License-Identifier: Apache-2.0
#include "models/llama/block.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/layers/attention.h"
#include "models/layers/rms_norm.h"
#include "models/layers/rope.h"
#include "models/layers/swiglu.h"
#include "models/llama/params.h"

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
  return needs;
}

absl::Status Block::Prepare(const Stream& stream,
                            absl::Span<const TensorView> weights,
                            int64_t version) {
  OCTET_RETURN_IF_ERROR(q_.Prepare(stream, weights[kQuery], version));
  OCTET_RETURN_IF_ERROR(k_.Prepare(stream, weights[kKey], version));
  OCTET_RETURN_IF_ERROR(v_.Prepare(stream, weights[kValue], version));
  OCTET_RETURN_IF_ERROR(o_.Prepare(stream, weights[kOutput], version));
  OCTET_RETURN_IF_ERROR(gate_.Prepare(stream, weights[kGate], version));
  OCTET_RETURN_IF_ERROR(up_.Prepare(stream, weights[kUp], version));
  return down_.Prepare(stream, weights[kDown], version);
}

absl::Status Block::Forward(const BlockContext& context,
                            absl::Span<const TensorView> weights,
                            int64_t version, const TensorView& residual,
                            BlockActivations* a) {
  const Stream& stream = context.stream;
  OCTET_RETURN_IF_ERROR(Prepare(stream, weights, version));
  RmsNormForwardArgs norm;
  norm.weight = weights[kInputNorm];
  norm.epsilon = context.config->rms_norm_eps;
  norm.y = a->attention_in;
  norm.rstd = a->attention_rstd;
  if (residual.data() == nullptr) {
    norm.residual = a->x;
  } else {
    norm.residual = residual;
    norm.delta = context.scratch.delta;
    norm.x = a->x;
  }
  OCTET_RETURN_IF_ERROR(RmsNormForward(stream, norm));
  OCTET_RETURN_IF_ERROR(
      attention_in_.Prepare(stream, a->attention_in, {&q_, &k_, &v_}));
  OCTET_RETURN_IF_ERROR(attention_in_.Forward(stream, q_, Rows(a->q)));
  OCTET_RETURN_IF_ERROR(attention_in_.Forward(stream, k_, Rows(a->k)));
  OCTET_RETURN_IF_ERROR(attention_in_.Forward(stream, v_, Rows(a->v)));
  for (const TensorView& turned : {a->q, a->k}) {
    OCTET_RETURN_IF_ERROR(
        Rope(stream, context.rope_table, RopeDirection::kForward, turned));
  }
  OCTET_RETURN_IF_ERROR(
      AttentionForward(stream, {a->q, a->k, a->v, a->o, a->log_sum_exp}));
  OCTET_RETURN_IF_ERROR(o_in_.Prepare(stream, Rows(a->o), {&o_}));
  OCTET_RETURN_IF_ERROR(o_in_.Forward(stream, o_, context.scratch.delta));
  return ForwardMlp(context, weights, a);
}

absl::Status Block::ForwardMlp(const BlockContext& context,
                               absl::Span<const TensorView> weights,
                               BlockActivations* a) {
  const Stream& stream = context.stream;
  RmsNormForwardArgs norm;
  norm.residual = a->x;
  norm.delta = context.scratch.delta;
  norm.weight = weights[kPostAttentionNorm];
  norm.epsilon = context.config->rms_norm_eps;
  norm.x = a->mlp_x;
  norm.y = a->mlp_in;
  norm.rstd = a->mlp_rstd;
  OCTET_RETURN_IF_ERROR(RmsNormForward(stream, norm));
  OCTET_RETURN_IF_ERROR(mlp_in_.Prepare(stream, a->mlp_in, {&gate_, &up_}));
  OCTET_RETURN_IF_ERROR(mlp_in_.Forward(stream, gate_, a->gate));
  OCTET_RETURN_IF_ERROR(mlp_in_.Forward(stream, up_, a->up));
  OCTET_RETURN_IF_ERROR(SwigluForward(stream, {a->gate, a->up, a->down_in}));
  OCTET_RETURN_IF_ERROR(down_in_.Prepare(stream, a->down_in, {&down_}));
  return down_in_.Forward(stream, down_, context.scratch.delta);
}

absl::Status Block::BackwardMlp(const BlockContext& context,
                                absl::Span<const TensorView> weights,
                                absl::Span<const TensorView> gradients,
                                BlockActivations* a) {
  const Stream& stream = context.stream;
  const Scratch& s = context.scratch;
  OCTET_RETURN_IF_ERROR(
      down_in_.Backward(stream, down_, s.grad_x, s.grad_down_in,
                        GradientMode::kOverwrite, gradients[kDown]));
  OCTET_RETURN_IF_ERROR(
      SwigluBackward(stream, {a->gate, a->up, s.grad_down_in, a->gate, a->up}));
  OCTET_RETURN_IF_ERROR(mlp_in_.Backward(stream, gate_, a->gate, s.grad_in,
                                         GradientMode::kOverwrite,
                                         gradients[kGate]));
  OCTET_RETURN_IF_ERROR(mlp_in_.Backward(stream, up_, a->up, s.grad_in,
                                         GradientMode::kAccumulate,
                                         gradients[kUp]));
  return RmsNormBackward(
      stream, {a->mlp_x, weights[kPostAttentionNorm], a->mlp_rstd, s.grad_in,
               s.grad_x, gradients[kPostAttentionNorm]});
}

absl::Status Block::Backward(const BlockContext& context,
                             absl::Span<const TensorView> weights,
                             int64_t version,
                             absl::Span<const TensorView> gradients,
                             BlockActivations* a) {
  const Stream& stream = context.stream;
  const Scratch& s = context.scratch;
  OCTET_RETURN_IF_ERROR(Prepare(stream, weights, version));
  OCTET_RETURN_IF_ERROR(BackwardMlp(context, weights, gradients, a));
  OCTET_RETURN_IF_ERROR(o_in_.Backward(stream, o_, s.grad_x, Rows(s.grad_o),
                                       GradientMode::kOverwrite,
                                       gradients[kOutput]));
  OCTET_RETURN_IF_ERROR(AttentionBackward(
      stream,
      {{a->q, a->k, a->v, a->o, a->log_sum_exp}, s.grad_o, s.dq, s.dk, s.dv}));
  for (const TensorView& turned : {s.dq, s.dk}) {
    OCTET_RETURN_IF_ERROR(
        Rope(stream, context.rope_table, RopeDirection::kBackward, turned));
  }
  OCTET_RETURN_IF_ERROR(
      attention_in_.Backward(stream, q_, Rows(s.dq), s.grad_in,
                             GradientMode::kOverwrite, gradients[kQuery]));
  OCTET_RETURN_IF_ERROR(
      attention_in_.Backward(stream, k_, Rows(s.dk), s.grad_in,
                             GradientMode::kAccumulate, gradients[kKey]));
  OCTET_RETURN_IF_ERROR(
      attention_in_.Backward(stream, v_, Rows(s.dv), s.grad_in,
                             GradientMode::kAccumulate, gradients[kValue]));
  return RmsNormBackward(stream, {a->x, weights[kInputNorm], a->attention_rstd,
                                  s.grad_in, s.grad_x, gradients[kInputNorm]});
}

}  // namespace octet::models
