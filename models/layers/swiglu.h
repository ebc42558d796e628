// SPDX-License-Identifier: Apache-2.0

// The gated activation: y = silu(gate) * up, silu(z) = z / (1 + exp(-z)).
//
// All tensors have one shape and dtype: f32, bf16 or f64. An amax is f32
// [1, 1], overwritten with the largest magnitude of its output, NaN if that has
// one: what float8::Cast takes as known_amax. Absent: not wanted. f32 and bf16.
//
// Queued on `stream`; views must outlive the work. Bitwise repeatable on one
// kind of device. Devices differ by a few f32 ulp of exp: in bf16, in the last
// bit of one element in some thousand at most. CPU is built in; for CUDA, f32
// and bf16, link :swiglu_cuda.
#ifndef OCTET_MODELS_LAYERS_SWIGLU_H_
#define OCTET_MODELS_LAYERS_SWIGLU_H_

#include "absl/status/status.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::models {

struct SwigluForwardArgs {
  TensorView gate;
  TensorView up;
  TensorView y;  // overwritten; may be the memory of gate or up
  TensorView amax = {};
};
absl::Status SwigluForward(const Stream& stream, const SwigluForwardArgs& args);

struct SwigluBackwardArgs {
  TensorView gate;
  TensorView up;
  TensorView dy;
  TensorView dgate;  // overwritten; may be the memory of gate, up or dy
  TensorView dup;    // the same, but not dgate's
  TensorView dgate_amax = {};
  TensorView dup_amax = {};
};
absl::Status SwigluBackward(const Stream& stream,
                            const SwigluBackwardArgs& args);

}  // namespace octet::models

#endif  // OCTET_MODELS_LAYERS_SWIGLU_H_
