// SPDX-License-Identifier: Apache-2.0
#include "models/llama/activations.h"

#include "base/shape.h"
#include "base/status_macros.h"
#include "models/layers/checks.h"

namespace octet::models {

// Hands out memory piece by piece; without any, only adds up.
class Activations::Arena {
 public:
  Arena(char* base, Device device) : base_(base), device_(device) {}

  TensorView Take(DType dtype, const Shape& shape) {
    constexpr int64_t kAlignment = 256;
    const int64_t at = bytes_;
    bytes_ +=
        CeilDiv(shape.num_elements() * SizeOf(dtype), kAlignment) * kAlignment;
    return TensorView(base_ == nullptr ? nullptr : base_ + at, dtype, shape,
                      device_);
  }
  int64_t bytes() const { return bytes_; }

 private:
  char* base_;
  Device device_;
  int64_t bytes_ = 0;
};

void Activations::LayOut(const LlamaConfig& config,
                         const ActivationOptions& options, Arena* arena) {
  const DType compute = options.compute_dtype;
  const DType statistic = internal::StatisticOf(compute);
  const int64_t b = options.batch;
  const int64_t t = options.length;
  const Shape hidden({b * t, config.hidden_size});
  const Shape wide({b * t, config.intermediate_size});
  const Shape queries({b, t, config.num_heads, config.head_dim});
  const Shape keys({b, t, config.num_kv_heads, config.head_dim});
  const auto take = [&](const Shape& shape) {
    return arena->Take(compute, shape);
  };
  const auto take_statistic = [&](const Shape& shape) {
    return arena->Take(statistic, shape);
  };
  // What a block does not keep is where the other ones' is.
  BlockActivations shared;
  TensorView shared_in;  // of norms, where no backward reads it
  const auto place = [&](bool keep, bool statistic_dtype, const Shape& shape,
                         TensorView* common) {
    if (keep || !common->present()) {
      const TensorView view =
          statistic_dtype ? take_statistic(shape) : take(shape);
      if (keep) return view;
      *common = view;
    }
    return *common;
  };
  blocks_.resize(config.num_layers);
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const ActivationOptions::BlockNeeds& needs = options.needs[i];
    const bool attention = needs.keep != Keep::kInput;
    const bool mlp = needs.keep == Keep::kAll;
    BlockActivations& block = blocks_[i];
    block.x = take(hidden);
    block.attention_rstd =
        place(attention, true, Shape({b * t}), &shared.attention_rstd);
    block.attention_in =
        place(attention && needs.attention_in, false, hidden,
              needs.attention_in ? &shared.attention_in : &shared_in);
    block.q = place(attention, false, queries, &shared.q);
    block.k = place(attention, false, keys, &shared.k);
    block.v = place(attention, false, keys, &shared.v);
    block.o = place(attention, false, queries, &shared.o);
    block.log_sum_exp = place(attention, true, Shape({b, config.num_heads, t}),
                              &shared.log_sum_exp);
    block.mlp_x = place(attention, false, hidden, &shared.mlp_x);
    block.mlp_rstd = place(mlp, true, Shape({b * t}), &shared.mlp_rstd);
    block.mlp_in = place(mlp && needs.mlp_in, false, hidden,
                         needs.mlp_in ? &shared.mlp_in : &shared_in);
    block.gate = place(mlp, false, wide, &shared.gate);
    block.up = place(mlp, false, wide, &shared.up);
    block.down_in = place(mlp && needs.down_in, false, wide, &shared.down_in);
  }
  scratch_.delta = take(hidden);
  scratch_.grad_x = take(hidden);
  scratch_.grad_in = scratch_.delta;  // forward's and backward's: never both
  scratch_.grad_down_in = take(wide);
  scratch_.grad_o = take(queries);
  scratch_.dq = take(queries);
  scratch_.dk = take(keys);
  scratch_.dv = take(keys);
  for (TensorView* amax : {&scratch_.amax, &scratch_.other_amax}) {
    *amax = arena->Take(DType::kF32, Shape({1, 1}));
  }
  if (options.wants_grad_x_amax) {
    scratch_.grad_x_amax = arena->Take(DType::kF32, Shape({1, 1}));
  } else {
    scratch_.grad_x_amax = TensorView();
  }
  const Shape logits({options.loss_chunk, config.vocab_size});
  head_.x = take(hidden);
  head_.rstd = take_statistic(Shape({b * t}));
  head_.in = take(hidden);
  head_.losses = arena->Take(DType::kF64, Shape({b * t}));
  head_.logits = take_statistic(logits);
  head_.dlogits = compute == statistic ? head_.logits : take(logits);
}

int64_t Activations::CountBytes(const LlamaConfig& config,
                                const ActivationOptions& options) {
  Arena counter(nullptr, Device{});
  Activations().LayOut(config, options, &counter);
  return counter.bytes();
}

absl::Status Activations::Plan(const Stream& stream, const LlamaConfig& config,
                               const ActivationOptions& options) {
  const int64_t bytes = CountBytes(config, options);
  if (num_bytes() < bytes) {
    memory_ = Tensor();
    OCTET_ASSIGN_OR_RETURN(
        memory_, Tensor::Allocate(DType::kU8, Shape({bytes}), stream.device()));
  }
  Arena arena(memory_.as<char>(), stream.device());
  LayOut(config, options, &arena);
  batch_ = options.batch;
  length_ = options.length;
  return absl::OkStatus();
}

}  // namespace octet::models
