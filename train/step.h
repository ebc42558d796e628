// SPDX-License-Identifier: Apache-2.0

// One optimizer step: microbatches, gradient norm, clipping, AdamW.
//
// The loss is the mean over all tokens of the step, and so is the gradient:
// every microbatch's is scaled by 1 / tokens of the step before it is added.
// Order: zero gradients; for each microbatch forward and backward; norm; if the
// loss or the norm is not finite, leave weights, moments and scaling histories
// as they were; else clip, AdamW, roll the histories. The same state gives the
// same bits.
#ifndef OCTET_TRAIN_STEP_H_
#define OCTET_TRAIN_STEP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "fsdp/param_store.h"
#include "train/adamw.h"
#include "train/schedule.h"
#include "train/tokens.h"

namespace octet::train {

// What a trainer asks of a model. tokens and targets are i32 [batch, seq_len].
struct StepModel {
  // Adds grad_scale times the gradient of the summed loss to the store's
  // gradients; returns the summed loss.
  std::function<absl::StatusOr<double>(
      const TensorView& tokens, const TensorView& targets, double grad_scale)>
      forward_backward;
  // The summed loss alone.
  std::function<absl::StatusOr<double>(const TensorView& tokens,
                                       const TensorView& targets)>
      loss;
  // Rolls the amax histories after a step that counts; forgets what was
  // recorded by a step that does not count, and by an evaluation.
  std::function<absl::Status()> advance_scaling;
  std::function<absl::Status()> discard_scaling;
};

struct TrainerOptions {
  int64_t local_batch_size = 0;
  int64_t micro_batches = 1;
  int64_t seq_len = 0;
  double lr = 0;
  double max_norm = 1.0;  // 0: no clipping
  AdamWOptions adamw;
  ScheduleOptions schedule;
};

struct StepResult {
  double loss = 0;
  double grad_norm = 0;  // before clipping
  double lr = 0;
  int64_t epoch = 0;      // of the step's first sample
  bool is_finite = true;  // false: nothing was changed
};

// Where a run stands; with weights and moments, all of its state.
struct TrainerState {
  int64_t step = 0;            // steps begun, skipped ones included
  int64_t optimizer_step = 0;  // AdamW's count of updates
  int64_t sample_index = 0;    // the next sample of the data
};

class Trainer {
 public:
  // Store and data must outlive it. InvalidArgument for bad options.
  static absl::StatusOr<Trainer> Create(const Stream& stream,
                                        const TrainerOptions& options,
                                        StepModel model,
                                        fsdp::ParamStore* store,
                                        const TokenData* data);

  absl::StatusOr<StepResult> Step();

  // Mean loss over the first `batches` batches held out; -1 for all, in which
  // case only windows that do not fill a batch are left. Changes nothing.
  absl::StatusOr<double> ValidationLoss(int64_t batches);

  int64_t tokens_per_step() const;
  TrainerState state() const;
  void set_state(const TrainerState& state);
  const AdamW& adamw() const { return adamw_; }

 private:
  Trainer(const Stream& stream, const TrainerOptions& options, StepModel model,
          fsdp::ParamStore* store, const TokenData* data,
          const Schedule& schedule, AdamW adamw);
  // Splits windows of seq_len + 1 into tokens_ and targets_.
  absl::Status Load(
      const std::function<absl::Status(int64_t row, absl::Span<int32_t> out)>&
          read);
  absl::StatusOr<double> GradientNorm();

  Stream stream_;
  TrainerOptions options_;
  StepModel model_;
  fsdp::ParamStore* store_;
  const TokenData* data_;
  Schedule schedule_;
  AdamW adamw_;
  int64_t step_ = 0;
  int64_t sample_index_ = 0;
  std::vector<TensorView> gradients_;
  std::vector<int32_t> window_;
  Tensor host_tokens_;
  Tensor host_targets_;
  Tensor tokens_;
  Tensor targets_;
};

}  // namespace octet::train

#endif  // OCTET_TRAIN_STEP_H_
