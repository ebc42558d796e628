// SPDX-License-Identifier: Apache-2.0

#include "float8/delayed_scaling.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "float8/amax.h"
#include "float8/cast.h"

namespace octet::float8 {
namespace {

// One f32 between host and device. On a GPU this waits for the queued work.
absl::StatusOr<float> ReadBack(const Stream& stream, const TensorView& one) {
  float value = 0.0f;
  const TensorView host(&value, DType::kF32, one.shape());
  OCTET_RETURN_IF_ERROR(Copy(stream, one, host));
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  return value;
}

absl::StatusOr<Tensor> MakeScalar(const Stream& stream) {
  return Tensor::Allocate(DType::kF32, ScaleShape(Granularity::kTensor, 1, 1),
                          stream.device());
}

absl::StatusOr<Tensor> ScaleTensor(const Stream& stream, float scale) {
  OCTET_ASSIGN_OR_RETURN(Tensor tensor, MakeScalar(stream));
  const TensorView host(&scale, DType::kF32, tensor.shape());
  OCTET_RETURN_IF_ERROR(Copy(stream, host, tensor));
  // `scale` is on this stack.
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  return tensor;
}

}  // namespace

DelayedScale::DelayedScale(const DelayedScalingOptions& options)
    : options_(options) {}

absl::Status DelayedScale::Cast(const Stream& stream, const TensorView& in,
                                const CastPlan& plan, Quantized* out) {
  if (plan.granularity != Granularity::kTensor) {
    return absl::InvalidArgumentError(
        absl::StrCat("delayed scaling: granularity is ", Name(plan.granularity),
                     ", must be ", Name(Granularity::kTensor)));
  }
  if (!IsFloat8(plan.dtype)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "delayed scaling: ", Name(plan.dtype), " is not a float8 format"));
  }
  const auto cast_by = [&](float amax, const TensorView& seen) -> absl::Status {
    const float scale =
        std::ldexp(ScaleFor(amax, plan.dtype, plan.rounding), -options_.margin);
    OCTET_ASSIGN_OR_RETURN(const Tensor tensor, ScaleTensor(stream, scale));
    CastOptions options;
    options.seen_amax = seen;
    return CastWithScale(stream, in, tensor, plan, options, out);
  };

  OCTET_ASSIGN_OR_RETURN(const Tensor seen, MakeScalar(stream));
  float current = 0.0f;
  if (amax_ > 0.0f) {
    OCTET_RETURN_IF_ERROR(cast_by(amax_, seen));
    OCTET_ASSIGN_OR_RETURN(current, ReadBack(stream, seen));
    if (!std::isfinite(current)) return cast_by(current, TensorView());
  } else {
    OCTET_RETURN_IF_ERROR(Amax(stream, in, Granularity::kTensor, seen));
    OCTET_ASSIGN_OR_RETURN(current, ReadBack(stream, seen));
    OCTET_RETURN_IF_ERROR(cast_by(current, TensorView()));
    if (!std::isfinite(current)) return absl::OkStatus();
    amax_ = current;
  }
  pending_amax_ = std::max(pending_amax_, current);
  used_ = true;
  return absl::OkStatus();
}

float DelayedScale::HistoryAmax() const {
  if (history_.empty()) return 0.0f;
  if (options_.reduction == AmaxReduction::kMostRecent) return history_.front();
  return *std::max_element(history_.begin(), history_.end());
}

void DelayedScale::Advance() {
  if (!used_) return;
  const int64_t length = std::max<int64_t>(options_.history_length, 1);
  history_.insert(history_.begin(), pending_amax_);
  history_.resize(length, 0.0f);
  amax_ = HistoryAmax();
  pending_amax_ = 0.0f;
  used_ = false;
}

void DelayedScale::Reset() {
  history_.clear();
  amax_ = 0.0f;
  pending_amax_ = 0.0f;
  used_ = false;
}

std::vector<float> DelayedScale::Save() const { return history_; }

absl::Status DelayedScale::Restore(absl::Span<const float> history) {
  for (size_t i = 0; i < history.size(); ++i) {
    if (!std::isfinite(history[i]) || history[i] < 0.0f) {
      return absl::InvalidArgumentError(
          absl::StrCat("delayed scaling: history[", i, "] is ", history[i],
                       ", an amax is finite and not negative"));
    }
  }
  Reset();
  if (history.empty()) return absl::OkStatus();
  history_.assign(history.begin(), history.end());
  history_.resize(std::max<int64_t>(options_.history_length, 1), 0.0f);
  amax_ = HistoryAmax();
  return absl::OkStatus();
}

}  // namespace octet::float8
