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
  const float scaled = std::ldexp(current, margin);
  const bool keeps = s[kDelayedAmax] > 0.0f && std::isfinite(current);
  *form.scale.as<float>() = ScaleFor(keeps ? s[kDelayedScaled] : scaled,
                                     form.plan.dtype, form.plan.rounding);
  if (std::isfinite(current)) {
    if (!keeps) {
      s[kDelayedAmax] = current;
      s[kDelayedScaled] = scaled;
    }
    s[kDelayedPending] = std::max(s[kDelayedPending], current);
    s[kDelayedUsed] = 1.0f;
  }
  return CastWithScaleCpu(stream, in, form, CastOptions());
}

absl::Status DelayedAdvanceCpu(const Stream&, const TensorView& state,
                               const DelayedScalingOptions& options) {
  float* const s = state.as<float>();
  if (s[kDelayedUsed] == 0.0f) return absl::OkStatus();
  float* const history = s + kDelayedHistory;
  float* const end = s + state.num_elements();
  std::copy_backward(history, end - 1, end);
  history[0] = s[kDelayedPending];
  s[kDelayedFilled] = 1.0f;
  s[kDelayedAmax] = options.reduction == AmaxReduction::kMostRecent
                        ? history[0]
                        : *std::max_element(history, end);
  s[kDelayedScaled] = std::ldexp(s[kDelayedAmax], options.margin);
  s[kDelayedPending] = 0.0f;
  s[kDelayedUsed] = 0.0f;
  return absl::OkStatus();
}

}  // namespace octet::float8::internal
