// SPDX-License-Identifier: Apache-2.0

// The layers between projections: each leaves its output ready for those that
// read it.
//
// Where every scale follows from a row or a block of the output, and the device
// has a kernel for it, the output is quantised where it is made, and is in
// memory only if a reader wants it as it is; else it is written, its amax taken
// where a cast asks for it, and then cast. Either way readers get the same
// bits. models/layers/output_cast.h says what is fused.
#ifndef OCTET_MODELS_LLAMA_QUANTIZED_LAYERS_H_
#define OCTET_MODELS_LLAMA_QUANTIZED_LAYERS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/stream.h"
#include "models/layers/rms_norm.h"
#include "models/layers/swiglu.h"
#include "models/llama/projection.h"

namespace octet::models {

// Who reads an output, and what it becomes.
struct OutputReaders {
  absl::Span<Projection* const> projections;
  SharedInput* input;
  SharedCasts* casts;
};

// `norm`'s y and amax are memory for it, which may stay unwritten.
absl::Status NormaliseFor(const Stream& stream, const RmsNormForwardArgs& norm,
                          const OutputReaders& readers);
absl::Status ActivateFor(const Stream& stream, const SwigluForwardArgs& swiglu,
                         const OutputReaders& readers);

// The gradients of two projections' outputs.
struct GateGradients {
  OutputGradient gate;
  OutputGradient up;
};

// `swiglu`'s dgate, dup and amaxes are memory for it, which may stay unwritten.
// The forms of both gradients are in `casts`, until the next call.
absl::Status ActivateBackwardFor(const Stream& stream,
                                 const SwigluBackwardArgs& swiglu,
                                 const Projection& gate, const Projection& up,
                                 SharedCasts* casts, GateGradients* gradients);

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_QUANTIZED_LAYERS_H_
