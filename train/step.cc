// SPDX-License-Identifier: Apache-2.0

#include "train/step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "train/clip.h"

namespace octet::train {

Trainer::Trainer(const Stream& stream, const TrainerOptions& options,
                 StepModel model, fsdp::ParamStore* store,
                 const TokenData* data, const Schedule& schedule, AdamW adamw)
    : stream_(stream),
      options_(options),
      model_(std::move(model)),
      store_(store),
      data_(data),
      schedule_(schedule),
      adamw_(std::move(adamw)),
      window_(options.seq_len + 1) {
  for (const fsdp::ParamShard& shard : store->shards()) {
    gradients_.push_back(shard.gradient);
  }
}

absl::StatusOr<Trainer> Trainer::Create(const Stream& stream,
                                        const TrainerOptions& options,
                                        StepModel model,
                                        fsdp::ParamStore* store,
                                        const TokenData* data) {
  if (options.local_batch_size < 1 || options.micro_batches < 1 ||
      options.seq_len < 1 || !(options.lr >= 0) || !(options.max_norm >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "trainer: local_batch_size is ", options.local_batch_size,
        ", micro_batches ", options.micro_batches, ", seq_len ",
        options.seq_len, " (all must be positive), lr ", options.lr,
        ", max_norm ", options.max_norm, " (both must be >= 0)"));
  }
  OCTET_ASSIGN_OR_RETURN(const Schedule schedule,
                         Schedule::Create(options.schedule));
  OCTET_ASSIGN_OR_RETURN(AdamW adamw,
                         AdamW::Create(stream, options.adamw, store));
  Trainer trainer(stream, options, std::move(model), store, data, schedule,
                  std::move(adamw));
  const Shape shape({options.local_batch_size, options.seq_len});
  for (Tensor* host : {&trainer.host_tokens_, &trainer.host_targets_}) {
    OCTET_ASSIGN_OR_RETURN(*host, Tensor::Allocate(DType::kI32, shape));
  }
  for (Tensor* device : {&trainer.tokens_, &trainer.targets_}) {
    OCTET_ASSIGN_OR_RETURN(
        *device, Tensor::Allocate(DType::kI32, shape, stream.device()));
  }
  return trainer;
}

int64_t Trainer::tokens_per_step() const {
  return options_.local_batch_size * options_.micro_batches * options_.seq_len;
}

TrainerState Trainer::state() const {
  return {step_, adamw_.step(), sample_index_};
}

void Trainer::set_state(const TrainerState& state) {
  step_ = state.step;
  sample_index_ = state.sample_index;
  adamw_.set_step(state.optimizer_step);
}

absl::Status Trainer::Load(
    const std::function<absl::Status(int64_t, absl::Span<int32_t>)>& read) {
  const int64_t length = options_.seq_len;
  for (int64_t row = 0; row < options_.local_batch_size; ++row) {
    OCTET_RETURN_IF_ERROR(read(row, absl::MakeSpan(window_)));
    std::copy_n(window_.data(), length,
                host_tokens_.as<int32_t>() + row * length);
    std::copy_n(window_.data() + 1, length,
                host_targets_.as<int32_t>() + row * length);
  }
  OCTET_RETURN_IF_ERROR(Copy(stream_, host_tokens_, tokens_));
  OCTET_RETURN_IF_ERROR(Copy(stream_, host_targets_, targets_));
  // The host's buffers are filled again for the next microbatch.
  return stream_.Synchronize();
}

absl::StatusOr<double> Trainer::GradientNorm() {
  OCTET_ASSIGN_OR_RETURN(const double squares,
                         SumOfSquares(stream_, gradients_));
  return std::sqrt(squares);
}

absl::StatusOr<StepResult> Trainer::Step() {
  StepResult result;
  result.lr = options_.lr * schedule_.Factor(step_);
  result.epoch = data_->Epoch(sample_index_);
  const double grad_scale = 1.0 / tokens_per_step();
  OCTET_RETURN_IF_ERROR(store_->ZeroGradients());
  for (int64_t i = 0; i < options_.micro_batches; ++i) {
    const int64_t first = sample_index_ + i * options_.local_batch_size;
    OCTET_RETURN_IF_ERROR(Load([&](int64_t row, absl::Span<int32_t> out) {
      return data_->Sample(first + row, out);
    }));
    OCTET_ASSIGN_OR_RETURN(
        const double sum,
        model_.forward_backward(tokens_, targets_, grad_scale));
    result.loss += sum;
  }
  OCTET_RETURN_IF_ERROR(store_->FinishGradients());
  result.loss *= grad_scale;
  OCTET_ASSIGN_OR_RETURN(result.grad_norm, GradientNorm());
  ++step_;
  sample_index_ += options_.local_batch_size * options_.micro_batches;
  result.is_finite =
      std::isfinite(result.loss) && std::isfinite(result.grad_norm);
  if (!result.is_finite) {
    OCTET_RETURN_IF_ERROR(model_.discard_scaling());
    return result;
  }
  OCTET_ASSIGN_OR_RETURN(const double coefficient,
                         ClipCoefficient(result.grad_norm, options_.max_norm));
  OCTET_RETURN_IF_ERROR(adamw_.Step(stream_, result.lr, coefficient));
  OCTET_RETURN_IF_ERROR(model_.advance_scaling());
  return result;
}

absl::StatusOr<double> Trainer::ValidationLoss(int64_t batches) {
  const int64_t rows = options_.local_batch_size;
  const int64_t whole = data_->validation_size() / rows;
  const int64_t count = batches < 0 ? whole : std::min(batches, whole);
  if (count < 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("validation: ", data_->validation_size(),
                     " windows are held out, a batch has ", rows));
  }
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    OCTET_RETURN_IF_ERROR(Load([&](int64_t row, absl::Span<int32_t> out) {
      return data_->ValidationSample(i * rows + row, out);
    }));
    OCTET_ASSIGN_OR_RETURN(const double loss, model_.loss(tokens_, targets_));
    sum += loss;
  }
  OCTET_RETURN_IF_ERROR(model_.discard_scaling());
  return sum / (count * rows * options_.seq_len);
}

}  // namespace octet::train
