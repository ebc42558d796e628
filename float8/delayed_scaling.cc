// SPDX-License-Identifier: Apache-2.0

#include "float8/delayed_scaling.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "float8/delayed_scaling_kernel.h"

namespace octet::float8 {
namespace internal {

KernelSlot<DelayedCastKernel>& DelayedCastSlot() {
  static KernelSlot<DelayedCastKernel> slot("//float8:delayed_scaling_cuda",
                                            &DelayedCastCpu);
  return slot;
}

KernelSlot<DelayedAdvanceKernel>& DelayedAdvanceSlot() {
  static KernelSlot<DelayedAdvanceKernel> slot("//float8:delayed_scaling_cuda",
                                               &DelayedAdvanceCpu);
  return slot;
}

}  // namespace internal

using internal::kDelayedAmax;
using internal::kDelayedFilled;
using internal::kDelayedHistory;
using internal::kDelayedScaled;

DelayedScale::DelayedScale(const DelayedScalingOptions& options)
    : options_(options),
      // Where Cast will refuse the options, no history.
      host_(kDelayedHistory +
            (Validate(options).ok() ? options.history_length : 1)) {}

absl::Status DelayedScale::Place(const Stream& stream) {
  const Shape shape({static_cast<int64_t>(host_.size())});
  if (device_.view().data() == nullptr ||
      device_.view().device() != stream.device()) {
    if (placed_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "delayed scaling: the history is on ", stream_.device().ToString(),
          ", the stream is on ", stream.device().ToString(),
          "; Save and Restore move it"));
    }
    OCTET_ASSIGN_OR_RETURN(
        device_, Tensor::Allocate(DType::kF32, shape, stream.device()));
  }
  stream_ = stream;
  if (placed_) return absl::OkStatus();
  const TensorView host(host_.data(), DType::kF32, shape);
  OCTET_RETURN_IF_ERROR(octet::Copy(stream, host, device_));
  placed_ = true;
  return absl::OkStatus();
}

absl::Status DelayedScale::Cast(const Stream& stream, const TensorView& in,
                                const CastPlan& plan, CastLayout layout,
                                Quantized* out) {
  OCTET_RETURN_IF_ERROR(Validate(options_));
  if (plan.granularity != Granularity::kTensor) {
    return absl::InvalidArgumentError(
        absl::StrCat("delayed scaling: granularity is ", Name(plan.granularity),
                     ", must be ", Name(Granularity::kTensor)));
  }
  OCTET_RETURN_IF_ERROR(internal::CheckCastInput(stream, in, plan));
  OCTET_ASSIGN_OR_RETURN(internal::DelayedCastKernel* const kernel,
                         internal::DelayedCastSlot().Get(stream.device()));
  OCTET_RETURN_IF_ERROR(Place(stream));
  OCTET_RETURN_IF_ERROR(internal::FitQuantized(in, plan, layout, out));
  return kernel(stream, in, device_, options_.margin, internal::FormOf(*out));
}

absl::Status DelayedScale::Advance() {
  // What only the host holds was not used since.
  if (!placed_) return absl::OkStatus();
  OCTET_ASSIGN_OR_RETURN(internal::DelayedAdvanceKernel* const kernel,
                         internal::DelayedAdvanceSlot().Get(stream_.device()));
  return kernel(stream_, device_, options_);
}

void DelayedScale::Reset() {
  std::fill(host_.begin(), host_.end(), 0.0f);
  placed_ = false;
}

absl::StatusOr<std::vector<float>> DelayedScale::Save() const {
  std::vector<float> state = host_;
  if (placed_) {
    const TensorView to(state.data(), DType::kF32, device_.shape());
    OCTET_RETURN_IF_ERROR(octet::Copy(stream_, device_, to));
    OCTET_RETURN_IF_ERROR(stream_.Synchronize());
  }
  if (state[kDelayedFilled] == 0.0f) return std::vector<float>();
  return std::vector<float>(state.begin() + kDelayedHistory, state.end());
}

absl::Status DelayedScale::Restore(absl::Span<const float> history) {
  OCTET_RETURN_IF_ERROR(Validate(options_));
  for (size_t i = 0; i < history.size(); ++i) {
    if (!std::isfinite(history[i]) || history[i] < 0.0f) {
      return absl::InvalidArgumentError(
          absl::StrCat("delayed scaling: history[", i, "] is ", history[i],
                       ", an amax is finite and not negative"));
    }
  }
  Reset();
  if (history.empty()) return absl::OkStatus();
  const auto first = host_.begin() + kDelayedHistory;
  std::copy_n(history.begin(),
              std::min<size_t>(history.size(), host_.end() - first), first);
  host_[kDelayedFilled] = 1.0f;
  host_[kDelayedAmax] = options_.reduction == AmaxReduction::kMostRecent
                            ? *first
                            : *std::max_element(first, host_.end());
  host_[kDelayedScaled] = std::ldexp(host_[kDelayedAmax], options_.margin);
  return absl::OkStatus();
}

}  // namespace octet::float8
