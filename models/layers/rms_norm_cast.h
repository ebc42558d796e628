// SPDX-License-Identifier: Apache-2.0

// The normalisation with its output quantised: RmsNormForward, then a cast of
// y. output_cast.h says when the two are one.
//
// One pass over memory for row-major bytes, whose scales a row is enough to
// know. For transposed bytes a first pass writes x and rstd, and a second one
// makes y from them tile by tile, if nobody wants y itself: it is never in
// memory. Queued on `stream`; bitwise repeatable. For CUDA link
// :rms_norm_cast_cuda.
#ifndef OCTET_MODELS_LAYERS_RMS_NORM_CAST_H_
#define OCTET_MODELS_LAYERS_RMS_NORM_CAST_H_

#include "absl/status/status.h"
#include "base/stream.h"
#include "models/layers/output_cast.h"
#include "models/layers/rms_norm.h"

namespace octet::models {

struct RmsNormCastArgs {
  // y may be absent: not wanted. amax, if present, also spares the pair of
  // operations a second reading of y for a dynamic scale of the tensor.
  RmsNormForwardArgs norm;
  OutputCast cast;
};

// Allocates the cast's tensors unless they fit already.
absl::Status RmsNormCast(const Stream& stream, const RmsNormCastArgs& args);

// Whether RmsNormCast does without y in memory, for arguments that it accepts:
// for who plans memory.
bool RmsNormCastIsFused(const RmsNormCastArgs& args);

}  // namespace octet::models

#endif  // OCTET_MODELS_LAYERS_RMS_NORM_CAST_H_
