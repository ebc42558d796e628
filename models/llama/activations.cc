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
  const TensorView shared_in = take(hidden);
  const TensorView shared_down_in = take(wide);
  blocks_.resize(config.num_layers);
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const ActivationOptions::BlockNeeds& needs = options.needs[i];
    BlockActivations& block = blocks_[i];
    block.x = take(hidden);
    block.attention_rstd = take_statistic(Shape({b * t}));
    block.attention_in = needs.attention_in ? take(hidden) : shared_in;
    block.q = take(queries);
    block.k = take(keys);
    block.v = take(keys);
    block.o = take(queries);
    block.log_sum_exp = take_statistic(Shape({b, config.num_heads, t}));
    block.mlp_x = take(hidden);
    block.mlp_rstd = take_statistic(Shape({b * t}));
    block.mlp_in = needs.mlp_in ? take(hidden) : shared_in;
    block.gate = take(wide);
    block.up = take(wide);
    block.down_in = needs.down_in ? take(wide) : shared_down_in;
  }
  scratch_.delta = take(hidden);
  scratch_.grad_x = take(hidden);
  scratch_.grad_in = scratch_.delta;  // forward's and backward's: never both
  scratch_.grad_down_in = take(wide);
  scratch_.grad_o = take(queries);
  scratch_.dq = take(queries);
  scratch_.dk = take(keys);
  scratch_.dv = take(keys);
  const Shape logits({options.loss_chunk, config.vocab_size});
  head_.x = take(hidden);
  head_.rstd = take_statistic(Shape({b * t}));
  head_.in = take(hidden);
  head_.losses = arena->Take(DType::kF64, Shape({b * t}));
  head_.logits = take_statistic(logits);
  head_.dlogits = compute == statistic ? head_.logits : take(logits);
}

absl::Status Activations::Plan(const Stream& stream, const LlamaConfig& config,
                               const ActivationOptions& options) {
  Arena counter(nullptr, stream.device());
  LayOut(config, options, &counter);
  if (num_bytes() < counter.bytes()) {
    memory_ = Tensor();
    OCTET_ASSIGN_OR_RETURN(
        memory_, Tensor::Allocate(DType::kU8, Shape({counter.bytes()}),
                                  stream.device()));
  }
  Arena arena(memory_.as<char>(), stream.device());
  LayOut(config, options, &arena);
  batch_ = options.batch;
  length_ = options.length;
  return absl::OkStatus();
}

}  // namespace octet::models
