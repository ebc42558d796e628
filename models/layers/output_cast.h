// SPDX-License-Identifier: Apache-2.0

// How a layer's output becomes float8 where it is made: what the fused casts
// (rms_norm_cast.h, swiglu_cast.h) share.
//
// A fused cast gives what the layer and then float8's Cast, CastPair or
// CastWithScale give on the same device, bit for bit; callers need not know
// which of the two ran. Fused is, on CUDA, for bf16 in 16-byte aligned memory
// with a multiple of 8 columns, and of 16 rows where transposed bytes are
// wanted:
//
//   tensor, with a known scale       in every layout
//   1x128 row-major, 128x1 transposed, or both, exact or rounded to 2^k
//   row, row-major                   of rms_norm
//
// All else runs as the pair of operations, which keeps the unquantised output
// in memory: where the caller gives none, it is allocated for the call, and the
// GPU is waited for to free it.
#ifndef OCTET_MODELS_LAYERS_OUTPUT_CAST_H_
#define OCTET_MODELS_LAYERS_OUTPUT_CAST_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/cast.h"

namespace octet::models {

struct OutputCast {
  float8::CastTarget first;
  // A second quantisation of the same output by dynamic scaling, as CastPair's;
  // none where its `out` is null.
  float8::CastTarget second = {};
  // f32, ScaleShape of first.plan: the scale is given, as by delayed scaling,
  // and there is no second. Absent: it follows from the output.
  TensorView known_scale = {};
  // The same shape: receives the amax of each tile, with a known scale alone.
  TensorView seen_amax = {};
};

namespace internal {

// InvalidArgument for what no cast takes of a matrix like `output`, whose dtype
// and device count; so that nothing is written before.
absl::Status CheckOutputCast(const Stream& stream, absl::string_view layer,
                             const TensorView& output, const OutputCast& cast);

// The cast alone, of an output that has been made. `known_amax` is its amax as
// f32 [1, 1], or absent.
absl::Status CastOutput(const Stream& stream, const TensorView& output,
                        const TensorView& known_amax, const OutputCast& cast);

// What a tile-wise kernel can do in one pass: kNone is nothing, kKnown the
// first line of the table above, kLocal the second.
enum class TileFusion : uint8_t { kNone, kKnown, kLocal };
TileFusion TileFusionOf(const TensorView& output, const OutputCast& cast);

// The target by rows (1x128, row-major), and that by columns (128x1,
// transposed), of a kLocal cast; null where there is none.
const float8::CastTarget* RowTarget(const OutputCast& cast);
const float8::CastTarget* ColumnTarget(const OutputCast& cast);

bool IsVectorAligned(const TensorView& view);

// `view` if present, else memory like `like`, which `*memory` then owns.
absl::StatusOr<TensorView> PresentOr(const TensorView& view,
                                     const TensorView& like, Tensor* memory);

}  // namespace internal
}  // namespace octet::models

#endif  // OCTET_MODELS_LAYERS_OUTPUT_CAST_H_
