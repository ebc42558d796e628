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

// The blocks' tensors: a first pass gives room to what blocks share, as they do
// not keep it, a second one to what each keeps.
class Activations::BlockPlaces {
 public:
  BlockPlaces(const LlamaConfig& config, const ActivationOptions& options,
              Arena* arena)
      : compute_(options.compute_dtype),
        statistic_(internal::StatisticOf(compute_)),
        rows_({options.batch * options.length}),
        hidden_({rows_.dim(0), config.hidden_size}),
        wide_({rows_.dim(0), config.intermediate_size}),
        queries_(
            {options.batch, options.length, config.num_heads, config.head_dim}),
        keys_({options.batch, options.length, config.num_kv_heads,
               config.head_dim}),
        scores_({options.batch, config.num_heads, options.length}),
        arena_(arena) {}

  BlockActivations Place(const ActivationOptions::BlockNeeds& needs,
                         bool kept) {
    kept_ = kept;
    const bool attention = needs.keep != Keep::kInput;
    const bool mlp = needs.keep == Keep::kAll;
    BlockActivations block;
    block.x = Take(true, compute_, hidden_, nullptr);
    block.attention_rstd =
        Take(attention, statistic_, rows_, &shared_.attention_rstd);
    block.attention_in =
        Take(attention && needs.attention_in, compute_, hidden_,
             needs.attention_in ? &shared_.attention_in : &shared_in_);
    block.q = Take(attention, compute_, queries_, &shared_.q);
    block.k = Take(attention, compute_, keys_, &shared_.k);
    block.v = Take(attention, compute_, keys_, &shared_.v);
    block.o = Take(attention, compute_, queries_, &shared_.o);
    block.log_sum_exp =
        Take(attention, statistic_, scores_, &shared_.log_sum_exp);
    block.mlp_x = Take(attention, compute_, hidden_, &shared_.mlp_x);
    block.mlp_rstd = Take(mlp, statistic_, rows_, &shared_.mlp_rstd);
    block.mlp_in = Take(mlp && needs.mlp_in, compute_, hidden_,
                        needs.mlp_in ? &shared_.mlp_in : &shared_in_);
    block.gate = Take(mlp, compute_, wide_, &shared_.gate);
    block.up = Take(mlp, compute_, wide_, &shared_.up);
    block.down_in =
        Take(mlp && needs.down_in, compute_, wide_, &shared_.down_in);
    return block;
  }

 private:
  TensorView Take(bool keep, DType dtype, const Shape& shape,
                  TensorView* common) {
    if (keep) return kept_ ? arena_->Take(dtype, shape) : TensorView();
    if (!common->present()) *common = arena_->Take(dtype, shape);
    return *common;
  }

  DType compute_;
  DType statistic_;
  Shape rows_, hidden_, wide_, queries_, keys_, scores_;
  Arena* arena_;
  bool kept_ = false;
  BlockActivations shared_;
  TensorView shared_in_;  // of norms, where no backward reads it
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
  BlockPlaces places(config, options, arena);
  for (const ActivationOptions::BlockNeeds& needs : options.needs) {
    places.Place(needs, /*kept=*/false);
  }
  blocks_.clear();
  block_begins_.clear();
  for (const ActivationOptions::BlockNeeds& needs : options.needs) {
    block_begins_.push_back(arena->bytes());
    blocks_.push_back(places.Place(needs, /*kept=*/true));
  }
}

ActivationLayout Activations::Layout(const LlamaConfig& config,
                                     const ActivationOptions& options) {
  Arena counter(nullptr, Device{});
  Activations activations;
  activations.LayOut(config, options, &counter);
  return {counter.bytes(), activations.block_begins_};
}

absl::Status Activations::Plan(const Stream& stream, const LlamaConfig& config,
                               const ActivationOptions& options) {
  const int64_t bytes = Layout(config, options).bytes;
  if (num_bytes() < bytes) {
    memory_ = Tensor();
    OCTET_ASSIGN_OR_RETURN(
        memory_, Tensor::Allocate(DType::kU8, Shape({bytes}), stream.device()));
    view_ = memory_;
  }
  Arena arena(view_.as<char>(), stream.device());
  LayOut(config, options, &arena);
  batch_ = options.batch;
  length_ = options.length;
  return absl::OkStatus();
}

}  // namespace octet::models
