// SPDX-License-Identifier: Apache-2.0

// Root-mean-square normalisation, with the residual addition before it.
//
//   x = residual + delta                       (just residual without delta)
//   y = x * rstd * weight,  rstd = 1 / sqrt(mean(x^2) + epsilon)
//
//   residual, delta, x, y and their gradients [tokens, hidden], weight [hidden]
//   in one dtype: f32, bf16 or f64; rstd [tokens] and dweight [hidden]: f32
//   (f64 for f64)
//
// The sum x is rounded to its dtype before it is normalised, so that backward,
// which reads x, sees the same numbers.
//
// Queued on `stream`; views must outlive the work. Bitwise repeatable on one
// kind of device; devices differ by the order of sums. CPU is built in; for
// CUDA, f32 and bf16, link :rms_norm_cuda.
#ifndef OCTET_MODELS_LAYERS_RMS_NORM_H_
#define OCTET_MODELS_LAYERS_RMS_NORM_H_

#include "absl/status/status.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::models {

struct RmsNormForwardArgs {
  TensorView residual;
  TensorView delta;  // absent: nothing is added
  TensorView weight;
  double epsilon = 1e-5;
  TensorView x;     // overwritten; may be residual; absent without delta
  TensorView y;     // overwritten
  TensorView rstd;  // overwritten
  // f32 [1, 1], overwritten with the largest |y|, NaN if y has one: what
  // float8::Cast takes as known_amax. Absent: not wanted. f32 and bf16.
  TensorView amax = {};
};
absl::Status RmsNormForward(const Stream& stream,
                            const RmsNormForwardArgs& args);

// The gradient of x is that of both residual and delta, and is added to what
// reaches x by the residual path.
struct RmsNormBackwardArgs {
  TensorView x;
  TensorView weight;
  TensorView rstd;
  TensorView dy;
  TensorView dx;       // accumulated into
  TensorView dweight;  // accumulated into
  // Of dx as it is after this, else like forward's.
  TensorView dx_amax = {};
};
absl::Status RmsNormBackward(const Stream& stream,
                             const RmsNormBackwardArgs& args);

}  // namespace octet::models

#endif  // OCTET_MODELS_LAYERS_RMS_NORM_H_
