// SPDX-License-Identifier: Apache-2.0

// Fills the slots of delayed scaling for CUDA.
//
// Whether a cast by the history's scale counts is known only after it, and the
// host must not wait for that: a cast by the history, a small kernel that
// decides and records, and the cast again, which returns at once unless the
// decision was against the first.
#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "float8/cast_cuda_problem.h"
#include "float8/cuda/delayed_scaling_kernel.h"
#include "float8/delayed_scaling_kernel.h"

namespace octet::float8::internal {
namespace {

DelayedCells CellsOf(const TensorView& state) {
  float* const s = state.as<float>();
  DelayedCells cells;
  cells.amax = s + kDelayedAmax;
  cells.scaled = s + kDelayedScaled;
  cells.pending = s + kDelayedPending;
  cells.used = s + kDelayedUsed;
  cells.filled = s + kDelayedFilled;
  cells.seen = s + kDelayedSeen;
  cells.keep = s + kDelayedKeep;
  cells.redo = s + kDelayedRedo;
  cells.history = s + kDelayedHistory;
  cells.length = state.num_elements() - kDelayedHistory;
  return cells;
}

absl::Status DelayedCastCuda(const Stream& stream, const TensorView& in,
                             const TensorView& state, int margin,
                             const CastForm& form) {
  const CastQueue queue(stream);
  OCTET_RETURN_IF_ERROR(queue.Start());
  const DelayedCells cells = CellsOf(state);
  CastProblem p = ProblemOf(in, form);
  p.scale.source = ScaleSource::kAmax;
  p.scale.from = cells.scaled;
  p.scale.seen_amax = cells.seen;
  OCTET_RETURN_IF_ERROR(LaunchCast(queue, form, p, TensorView()));
  OCTET_RETURN_IF_ERROR(queue.Done(
      LaunchDelayedUpdate(cells, margin, queue.native()), "delayed scaling"));
  if (in.empty()) return absl::OkStatus();
  p.scale.from = cells.redo;
  p.scale.seen_amax = nullptr;
  p.gate = {cells.keep, cells.keep};
  return LaunchCast(queue, form, p, TensorView());
}

absl::Status DelayedAdvanceCuda(const Stream& stream, const TensorView& state,
                                const DelayedScalingOptions& options) {
  const CastQueue queue(stream);
  OCTET_RETURN_IF_ERROR(queue.Start());
  return queue.Done(
      LaunchDelayedAdvance(CellsOf(state),
                           options.reduction == AmaxReduction::kMostRecent,
                           options.margin, queue.native()),
      "history of delayed scaling");
}

[[maybe_unused]] const bool kRegistered =
    DelayedCastSlot().Register(DeviceKind::kCuda, &DelayedCastCuda) &&
    DelayedAdvanceSlot().Register(DeviceKind::kCuda, &DelayedAdvanceCuda);

}  // namespace
}  // namespace octet::float8::internal
