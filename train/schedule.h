// SPDX-License-Identifier: Apache-2.0

// Learning rate over the steps: warm-up, stable, decay (torchtitan's rules).
//
// Of `steps` steps the first warmup_steps rise linearly, step i (from 0) at
// (i + 1) / warmup_steps, so that no step has rate 0. The last decay_steps
// fall from 1 to min_lr_factor, which only a step after the last would reach.
// decay_ratio gives decay_steps as a fraction of all steps; without it all that
// follows the warm-up decays. What does not fit is clipped: the warm-up to
// `steps`, then the decay to what the warm-up leaves.
#ifndef OCTET_TRAIN_SCHEDULE_H_
#define OCTET_TRAIN_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace octet::train {

struct ScheduleOptions {
  int64_t steps = 0;
  int64_t warmup_steps = 0;
  std::optional<double> decay_ratio = std::nullopt;
  std::string decay_type = "linear";  // linear, sqrt or cosine
  double min_lr_factor = 0;
};

class Schedule {
 public:
  // InvalidArgument for steps < 1, a negative warm-up, a ratio or factor
  // outside [0, 1], an unknown decay type.
  static absl::StatusOr<Schedule> Create(const ScheduleOptions& options);

  // The factor on the learning rate at step i >= 0; past the last step it
  // stays what it was there. Finite, in [min_lr_factor or 0, 1].
  double Factor(int64_t step) const;

  int64_t warmup_steps() const { return warmup_steps_; }
  int64_t decay_steps() const { return decay_steps_; }

 private:
  explicit Schedule(const ScheduleOptions& options);

  ScheduleOptions options_;
  int64_t warmup_steps_;
  int64_t decay_steps_;
};

}  // namespace octet::train

#endif  // OCTET_TRAIN_SCHEDULE_H_
