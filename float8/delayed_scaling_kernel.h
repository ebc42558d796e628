// SPDX-License-Identifier: Apache-2.0

// What a device does for delayed scaling: the state of one tensor, as f32, and
// the two steps that change it.
#ifndef OCTET_FLOAT8_DELAYED_SCALING_KERNEL_H_
#define OCTET_FLOAT8_DELAYED_SCALING_KERNEL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/cast_kernel.h"
#include "float8/recipe.h"

namespace octet::float8::internal {

// Indices of the state, which has kDelayedHistory + history length elements.
// The scale follows from an amax times 2^margin, which divides it by that.
inline constexpr int64_t kDelayedAmax = 0;     // of the current scale; 0: none
inline constexpr int64_t kDelayedScaled = 1;   // the same times 2^margin
inline constexpr int64_t kDelayedPending = 2;  // largest since the last advance
inline constexpr int64_t kDelayedUsed = 3;     // 1 since the last advance, or 0
inline constexpr int64_t kDelayedFilled = 4;   // 1 once there is a history
// Between a GPU's launches: the amax of the last cast, 0 before the next; 0
// where that cast is redone, else 1; the amax times 2^margin to redo it by.
inline constexpr int64_t kDelayedSeen = 5;
inline constexpr int64_t kDelayedKeep = 6;
inline constexpr int64_t kDelayedRedo = 7;
inline constexpr int64_t kDelayedHistory = 8;  // newest first

// Casts by the state's amax, or by the tensor's own where the state has none or
// the tensor is not finite; records the tensor's amax if it is finite. Writes
// all that is present in `form`.
using DelayedCastKernel = absl::Status(const Stream& stream,
                                       const TensorView& in,
                                       const TensorView& state, int margin,
                                       const CastForm& form);
KernelSlot<DelayedCastKernel>& DelayedCastSlot();
absl::Status DelayedCastCpu(const Stream& stream, const TensorView& in,
                            const TensorView& state, int margin,
                            const CastForm& form);

// Rolls the history if the state was used, and takes the next amax from it.
using DelayedAdvanceKernel = absl::Status(const Stream& stream,
                                          const TensorView& state,
                                          const DelayedScalingOptions& options);
KernelSlot<DelayedAdvanceKernel>& DelayedAdvanceSlot();
absl::Status DelayedAdvanceCpu(const Stream& stream, const TensorView& state,
                               const DelayedScalingOptions& options);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_DELAYED_SCALING_KERNEL_H_
