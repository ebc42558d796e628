// SPDX-License-Identifier: Apache-2.0

// The gated activation: y = silu(gate) * up, silu(z) = z / (1 + exp(-z)).
//
// All tensors have one shape and dtype: f32, bf16 or f64.
#ifndef OCTET_MODELS_LAYERS_SWIGLU_H_
#define OCTET_MODELS_LAYERS_SWIGLU_H_

#include "absl/status/status.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::models {

// Overwrites y.
absl::Status SwigluForward(const Stream& stream, const TensorView& gate,
                           const TensorView& up, const TensorView& y);

// Overwrites dgate and dup; each may be the memory of gate, up or dy.
absl::Status SwigluBackward(const Stream& stream, const TensorView& gate,
                            const TensorView& up, const TensorView& dy,
                            const TensorView& dgate, const TensorView& dup);

}  // namespace octet::models

#endif  // OCTET_MODELS_LAYERS_SWIGLU_H_
