// SPDX-License-Identifier: Apache-2.0

// The gated activation and its gradients, quantised: SwigluForward or
// SwigluBackward, then a cast of each output. output_cast.h says when the two
// are one pass, in which an output that is absent is never in memory.
//
// Queued on `stream`; bitwise repeatable. For CUDA link :swiglu_cast_cuda.
#ifndef OCTET_MODELS_LAYERS_SWIGLU_CAST_H_
#define OCTET_MODELS_LAYERS_SWIGLU_CAST_H_

#include "absl/status/status.h"
#include "base/stream.h"
#include "models/layers/output_cast.h"
#include "models/layers/swiglu.h"

namespace octet::models {

struct SwigluCastArgs {
  // y may be absent: not wanted. amax, if present, spares the pair of
  // operations a second reading of y for a dynamic scale of the tensor.
  SwigluForwardArgs swiglu;
  OutputCast cast;
};

// Allocates the cast's tensors unless they fit already.
absl::Status SwigluCast(const Stream& stream, const SwigluCastArgs& args);

struct SwigluBackwardCastArgs {
  // dgate and dup may be absent, each; the amaxes as above.
  SwigluBackwardArgs swiglu;
  OutputCast dgate;
  OutputCast dup;
};

// Fused if both outputs have known scales or both have local ones.
absl::Status SwigluBackwardCast(const Stream& stream,
                                const SwigluBackwardCastArgs& args);

// Whether the outputs need no place in memory, for arguments that are accepted.
bool SwigluCastIsFused(const SwigluCastArgs& args);
bool SwigluBackwardCastIsFused(const SwigluBackwardCastArgs& args);

}  // namespace octet::models

#endif  // OCTET_MODELS_LAYERS_SWIGLU_CAST_H_
