// SPDX-License-Identifier: Apache-2.0

// Scales taken from the history of a tensor's amax.
//
//   scale = ScaleFor(2^margin * max or most recent of the history)
//
// The first use takes the amax of the tensor at hand, and so does one whose
// history holds only zeros, which say nothing of the values to come. Within a
// step the largest amax seen is remembered, so microbatches and recomputation
// see one scale and enter the history once, when Advance is called; a tensor
// that was not used keeps its history. Fixed size, whatever the number of
// steps.
//
// A tensor with a NaN or an infinity is cast by its own amax, as dynamic
// scaling would, so that NaN shows in the output instead of a saturated value;
// that amax enters no history.
#ifndef OCTET_FLOAT8_DELAYED_SCALING_H_
#define OCTET_FLOAT8_DELAYED_SCALING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/recipe.h"
#include "float8/scaling.h"

namespace octet::float8 {

class DelayedScale {
 public:
  // Cast and Restore return InvalidArgument for options that recipe.h's
  // Validate refuses.
  explicit DelayedScale(const DelayedScalingOptions& options = {});

  // Casts by the current scale and records the amax. plan.granularity is
  // kTensor.
  absl::Status Cast(const Stream& stream, const TensorView& in,
                    const CastPlan& plan, CastLayout layout, Quantized* out);

  // Rolls the history if the tensor was used since the last call. Queued on the
  // stream of the last cast.
  absl::Status Advance();

  // Forgets everything: the next use takes the tensor's own amax. For weights
  // that were replaced.
  void Reset();

  // Newest first; empty before first use. Waits for the stream of the last
  // cast. Restore takes any length: missing entries are zeros, surplus ones are
  // dropped, none means Reset. InvalidArgument for an entry that is negative or
  // not finite.
  absl::StatusOr<std::vector<float>> Save() const;
  absl::Status Restore(absl::Span<const float> history);

 private:
  // Puts the state on the stream's device.
  absl::Status Place(const Stream& stream);

  DelayedScalingOptions options_;
  // Of delayed_scaling_kernel.h. The host's copy counts until a cast places it.
  std::vector<float> host_;
  Tensor device_;
  bool placed_ = false;
  Stream stream_;
};

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_DELAYED_SCALING_H_
