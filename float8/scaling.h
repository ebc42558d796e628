// SPDX-License-Identifier: Apache-2.0

// How values are scaled into float8's range: plans, scales, quantised matrices.
//
//   q = cast(x * scale),  scale = float32(double(max) / max(double(amax),
//   1e-12))
//
// where max is the format's largest value (448 or 57344) and amax is the
// largest |x| that shares the scale. The matrix is [rows, cols], row-major; a
// granularity names the tile, in the matrix's own orientation, that shares one
// scale. Scales are stored f32, row-major, [ceil(rows / tile rows), ceil(cols /
// tile cols)], as multipliers: x is about q / scale.
//
// An amax of NaN gives a NaN scale; of infinity, scale 0 and a NaN element: a
// non-finite input is never hidden. Source of the formula: torchao
// (float8_utils).
#ifndef OCTET_FLOAT8_SCALING_H_
#define OCTET_FLOAT8_SCALING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "base/tensor.h"

namespace octet::float8 {

enum class Granularity : uint8_t {
  kTensor,
  kRow,           // amax over the last axis: scales [rows, 1]
  kColumn,        // amax over the first axis: scales [1, cols]
  kBlock1x128,    // [rows, ceil(cols / 128)]
  kBlock128x1,    // [ceil(rows / 128), cols]
  kBlock128x128,  // [ceil(rows / 128), ceil(cols / 128)]
  kBlock1x32,     // [rows, ceil(cols / 32)]
  kBlock32x1,     // [ceil(rows / 32), cols]
};

enum class ScaleRounding : uint8_t {
  kExact,
  kPowerOfTwo,  // floored to 2^k, so that nothing saturates that did not before
  // The mx formats': 1 / scale = 2^ceil(log2(amax / max)), clamped to e8m0's
  // range [2^-127, 2^127].
  kE8m0,
};

// How one operand is quantised. Plain data.
struct CastPlan {
  DType dtype = DType::kF8E4M3;
  Granularity granularity = Granularity::kTensor;
  ScaleRounding rounding = ScaleRounding::kExact;

  bool operator==(const CastPlan& o) const {
    return dtype == o.dtype && granularity == o.granularity &&
           rounding == o.rounding;
  }
  bool operator!=(const CastPlan& o) const { return !(*this == o); }
};

// Rows and columns of the tile that shares a scale; 0 stands for the whole
// axis.
struct Tile {
  int64_t rows;
  int64_t cols;
};
Tile TileOf(Granularity granularity);

// Shape of the scales of a [rows, cols] matrix.
Shape ScaleShape(Granularity granularity, int64_t rows, int64_t cols);

// "tensor", "row", "column", "1x128", "128x1", "128x128", "1x32", "32x1"
absl::string_view Name(Granularity granularity);
absl::StatusOr<Granularity> ParseGranularity(absl::string_view name);

// "exact", "pow2", "e8m0"
absl::string_view Name(ScaleRounding rounding);

// The scale for an amax, by the formula above; `dtype` must be float8.
float ScaleFor(float amax, DType dtype, ScaleRounding rounding);

// Which forms of the bytes a cast writes. A Hopper GPU multiplies float8 along
// contiguous memory alone, so where a sum runs over rows it needs the
// transpose.
enum class CastLayout : uint8_t { kRowMajor, kTransposed, kBoth };

// A quantised matrix in the operand's own orientation, [rows, cols], whatever
// its layout. Owned by whoever holds it.
struct Quantized {
  CastPlan plan;
  Tensor data;        // [rows, cols] of plan.dtype; absent for kTransposed
  Tensor transposed;  // [cols, rows]; absent for kRowMajor
  Tensor scale;       // f32, ScaleShape(...)
  // On a GPU, 1 / scale as its multiplications read it: ReciprocalShape(...).
  // Tiles of 128x128 have one for each form of the bytes, others one for both.
  Tensor reciprocal;
  Tensor transposed_reciprocal;
};

// f32, what cuBLASLt takes (VEC128 and BLK128x128 scale layouts): one along the
// axis that is not summed, contiguous along it and padded to 4; for 128x128
// contiguous along the sum.
//   tensor [1], row [rows], column [cols]
//   1x128 [ceil(cols / 128), 4 * ceil(rows / 4)], and 128x1 likewise
//   128x128 [ceil(rows / 128), 4 * ceil(ceil(cols / 128) / 4)]; with rows and
//   cols exchanged for the transposed bytes
// [0] where no GPU multiplies: 1x32 and 32x1. Padding is not read.
Shape ReciprocalShape(Granularity granularity, int64_t rows, int64_t cols);

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_SCALING_H_
