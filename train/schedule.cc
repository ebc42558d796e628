// SPDX-License-Identifier: Apache-2.0

#include "train/schedule.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace octet::train {
namespace {

constexpr double kPi = 3.14159265358979323846;

}  // namespace

absl::StatusOr<Schedule> Schedule::Create(const ScheduleOptions& options) {
  if (options.steps < 1 || options.warmup_steps < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("schedule: steps is ", options.steps, ", warmup_steps is ",
                     options.warmup_steps, "; need at least 1 and 0"));
  }
  const double ratio = options.decay_ratio.value_or(0);
  const double factor = options.min_lr_factor;
  if (!(ratio >= 0 && ratio <= 1) || !(factor >= 0 && factor <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("schedule: decay_ratio is ", ratio, ", min_lr_factor is ",
                     factor, "; both must be in [0, 1]"));
  }
  const std::string& type = options.decay_type;
  if (type != "linear" && type != "sqrt" && type != "cosine") {
    return absl::InvalidArgumentError(
        absl::StrCat("schedule: decay_type is \"", type,
                     "\"; known are linear, sqrt, cosine"));
  }
  return Schedule(options);
}

Schedule::Schedule(const ScheduleOptions& options)
    : options_(options),
      warmup_steps_(std::min(options.warmup_steps, options.steps)) {
  const int64_t left = options.steps - warmup_steps_;
  decay_steps_ =
      options.decay_ratio
          ? std::min<int64_t>(
                left, std::llround(options.steps * *options.decay_ratio))
          : left;
}

double Schedule::Factor(int64_t step) const {
  step = std::min(step, options_.steps - 1);
  if (step < warmup_steps_) {
    return static_cast<double>(step + 1) / warmup_steps_;
  }
  // One step longer than the room between warm-up and decay, so that the last
  // step's rate is not 0.
  const int64_t decay_begin = options_.steps + 1 - decay_steps_;
  if (step < decay_begin) return 1;
  const double progress =
      static_cast<double>(step + 1 - decay_begin) / decay_steps_;
  double factor = 1 - progress;
  if (options_.decay_type == "sqrt") factor = 1 - std::sqrt(progress);
  if (options_.decay_type == "cosine") {
    factor = 0.5 * (1 + std::cos(kPi * progress));
  }
  return options_.min_lr_factor + (1 - options_.min_lr_factor) * factor;
}

}  // namespace octet::train
