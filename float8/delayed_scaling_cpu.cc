// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/status_macros.h"
#include "float8/amax_kernel.h"
#include "float8/delayed_scaling_kernel.h"

namespace octet::float8::internal {

absl::Status DelayedCastCpu(const Stream& stream, const TensorView& in,
                            const TensorView& state, int margin,
                            const CastForm& form) {
  float* const s = state.as<float>();
  const TensorView seen(s + kDelayedSeen, DType::kF32,
                        ScaleShape(Granularity::kTensor, in.rows(), in.cols()));
  OCTET_RETURN_IF_ERROR(AmaxCpu(stream, in, Granularity::kTensor, seen));
  const float current = s[kDelayedSeen];
  const bool keeps = s[kDelayedAmax] > 0.0f && std::isfinite(current);
  s[kDelayedKeep] = keeps ? 1.0f : 0.0f;
  const float amax = keeps ? s[kDelayedAmax] : current;
  *form.scale.as<float>() =
      std::ldexp(ScaleFor(amax, form.plan.dtype, form.plan.rounding), -margin);
  if (std::isfinite(current)) {
    if (!keeps) s[kDelayedAmax] = current;
    s[kDelayedPending] = std::max(s[kDelayedPending], current);
    s[kDelayedUsed] = 1.0f;
  }
  return CastWithScaleCpu(stream, in, form, CastOptions());
}

absl::Status DelayedAdvanceCpu(const Stream&, const TensorView& state,
                               AmaxReduction reduction) {
  float* const s = state.as<float>();
  if (s[kDelayedUsed] == 0.0f) return absl::OkStatus();
  float* const history = s + kDelayedHistory;
  float* const end = s + state.num_elements();
  std::copy_backward(history, end - 1, end);
  history[0] = s[kDelayedPending];
  s[kDelayedFilled] = 1.0f;
  s[kDelayedAmax] = reduction == AmaxReduction::kMostRecent
                        ? history[0]
                        : *std::max_element(history, end);
  s[kDelayedPending] = 0.0f;
  s[kDelayedUsed] = 0.0f;
  return absl::OkStatus();
}

}  // namespace octet::float8::internal
