// SPDX-License-Identifier: Apache-2.0

// Quantises a matrix to float8.
//
//   in [rows, cols] f32, bf16 or f16;  out->data [rows, cols] float8
//   out = round_to_nearest_even(clamp(float(in) * scale))
//
// one f32 multiplication, then saturation, then rounding; NaN stays NaN. Queued
// on `stream`, which names the device; views must outlive the work. Bitwise
// repeatable and equal on every device. CPU is built in; for CUDA link
// :cast_cuda.
#ifndef OCTET_FLOAT8_CAST_H_
#define OCTET_FLOAT8_CAST_H_

#include "absl/status/status.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/scaling.h"

namespace octet::float8 {

// Dynamic scaling: takes the amax of each tile, then casts. Allocates out's
// tensors unless they fit already. Any rows and cols, 0 included.
// InvalidArgument if `in` is not a floating-point tensor on the stream's
// device.
absl::Status Cast(const Stream& stream, const TensorView& in,
                  const CastPlan& plan, Quantized* out);

// The same with scales that are known: `scale` f32 of ScaleShape(...), copied
// to out->scale. Also records each tile's amax in `amax` (f32, the same shape)
// when that is not absent: what delayed scaling puts into its history.
absl::Status CastWithScale(const Stream& stream, const TensorView& in,
                           const TensorView& scale, const CastPlan& plan,
                           const TensorView& amax, Quantized* out);

// out = float(q) / scale, as one f32 multiplication by the reciprocal of the
// scale. `out` is f32 or bf16 of the data's shape.
absl::Status Dequantize(const Stream& stream, const Quantized& in,
                        const TensorView& out);

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_CAST_H_
