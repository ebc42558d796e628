// SPDX-License-Identifier: Apache-2.0

// Quantises a matrix to float8.
//
//   in [rows, cols] f32, bf16 or f16;  out->data [rows, cols] float8
//   out = round_to_nearest_even(clamp(float(in) * scale))
//
// one f32 multiplication, then saturation, then rounding; NaN stays NaN. The
// bytes are written as they lie, transposed, or both from one read. Queued on
// `stream`, which names the device; views must outlive the work. Bitwise
// repeatable; bytes and scales are equal on every device. Allocates out's
// tensors unless they fit already. Any rows and cols, 0 included. CPU is built
// in; for CUDA link :cast_cuda.
#ifndef OCTET_FLOAT8_CAST_H_
#define OCTET_FLOAT8_CAST_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/scaling.h"

namespace octet::float8 {

struct CastOptions {
  CastLayout layout = CastLayout::kRowMajor;
  // f32, ScaleShape(...): the amax of each tile where whoever made `in` knows
  // it already, so that Cast reads `in` once. Absent: Cast takes it.
  TensorView known_amax;
  // The same shape: receives the amax of each tile from CastWithScale, for a
  // history. Absent: not wanted.
  TensorView seen_amax;
  // f32 [cols]: receives the sum of each column of `in`, a bias's gradient.
  // Absent: not wanted.
  TensorView column_sum;
};

// Dynamic scaling: the scale of each tile follows from its amax.
// InvalidArgument if `in` is not a floating-point tensor on the stream's
// device, an option does not fit, `out` is null, or what is read lies in a
// scale of `out` that must be allocated again.
absl::Status Cast(const Stream& stream, const TensorView& in,
                  const CastPlan& plan, Quantized* out);
absl::Status Cast(const Stream& stream, const TensorView& in,
                  const CastPlan& plan, const CastOptions& options,
                  Quantized* out);

// The same with scales that are given: `scale` f32 of ScaleShape(...), copied
// to out->scale. It may be out->scale itself where that fits already.
absl::Status CastWithScale(const Stream& stream, const TensorView& in,
                           const TensorView& scale, const CastPlan& plan,
                           const CastOptions& options, Quantized* out);

struct CastTarget {
  CastPlan plan;
  CastLayout layout = CastLayout::kRowMajor;
  Quantized* out = nullptr;
};

// Two quantisations of one matrix by dynamic scaling, such as by row for one
// multiplication and by column, transposed, for another. A GPU reads `in` once
// for 1x128 with 128x1, and shares the read for the amax of row with column.
absl::Status CastPair(const Stream& stream, const TensorView& in,
                      const CastTarget& first, const CastTarget& second);

struct CastJob {
  TensorView in;
  CastPlan plan;
  CastLayout layout = CastLayout::kRowMajor;
  Quantized* out = nullptr;
};

// Many matrices by dynamic scaling: all weights after an optimizer step. A GPU
// needs two launches for those by tensor and one for those by 128x128, however
// many they are. InvalidArgument names the jobs that share an out or have none.
absl::Status CastMany(const Stream& stream, absl::Span<const CastJob> jobs);

// out = float(q) / scale, as one f32 multiplication by the reciprocal of the
// scale. Reads in.data, or in.transposed where that is absent. `out` is f32,
// bf16 or f16, [rows, cols].
absl::Status Dequantize(const Stream& stream, const Quantized& in,
                        const TensorView& out);

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_CAST_H_
