// SPDX-License-Identifier: Apache-2.0
#include "models/layers/output_cast_cuda.h"

#include "float8/cuda/types.h"

namespace octet::models::internal {
namespace {

using float8::CastTarget;
using float8::Quantized;

Fp8 FormatOf(const CastTarget& target) {
  return target.plan.dtype == DType::kF8E5M2 ? Fp8::kE5M2 : Fp8::kE4M3;
}

bool IsPowerOfTwo(const CastTarget& target) {
  return target.plan.rounding == float8::ScaleRounding::kPowerOfTwo;
}

// Where a known scale is copied to, null if it is there.
float* CopyOf(const TensorView& known, const Quantized& out) {
  return out.scale.as<float>() == known.as<float>() ? nullptr
                                                    : out.scale.as<float>();
}

}  // namespace

TileScaling TileScalingOf(TileFusion fusion) {
  return fusion == TileFusion::kKnown ? TileScaling::kKnown
                                      : TileScaling::kLocal;
}

TileCastOutput TileCastOutputOf(const OutputCast& cast, const TensorView& plain,
                                TileFusion fusion) {
  TileCastOutput out = {};
  out.plain = plain.data();
  if (fusion == TileFusion::kKnown) {
    const Quantized& q = *cast.first.out;
    out.data = q.data.as<uint8_t>();
    out.transposed = q.transposed.as<uint8_t>();
    out.data_format = out.transposed_format = FormatOf(cast.first);
    out.known_scale = cast.known_scale.as<float>();
    out.scale = CopyOf(cast.known_scale, q);
    out.reciprocal = q.reciprocal.as<float>();
    out.seen_amax = cast.seen_amax.as<float>();
    return out;
  }
  if (const CastTarget* rows = RowTarget(cast)) {
    out.data = rows->out->data.as<uint8_t>();
    out.data_format = FormatOf(*rows);
    out.data_power_of_two = IsPowerOfTwo(*rows);
    out.row_scale = rows->out->scale.as<float>();
    out.row_reciprocal = rows->out->reciprocal.as<float>();
  }
  if (const CastTarget* columns = ColumnTarget(cast)) {
    out.transposed = columns->out->transposed.as<uint8_t>();
    out.transposed_format = FormatOf(*columns);
    out.transposed_power_of_two = IsPowerOfTwo(*columns);
    out.col_scale = columns->out->scale.as<float>();
    out.col_reciprocal = columns->out->reciprocal.as<float>();
  }
  return out;
}

RowCast RowCastOf(const OutputCast& cast) {
  if (cast.known_scale.present()) return RowCast::kKnownScale;
  return cast.first.plan.granularity == float8::Granularity::kRow
             ? RowCast::kRow
             : RowCast::kBlock1x128;
}

RowCastProblem RowCastProblemOf(const OutputCast& cast) {
  const Quantized& q = *cast.first.out;
  RowCastProblem problem = {};
  problem.data = q.data.as<uint8_t>();
  problem.format = FormatOf(cast.first);
  problem.power_of_two = IsPowerOfTwo(cast.first);
  problem.known_scale = cast.known_scale.as<float>();
  problem.scale = cast.known_scale.present() ? CopyOf(cast.known_scale, q)
                                             : q.scale.as<float>();
  problem.reciprocal = q.reciprocal.as<float>();
  problem.reciprocal_stride = q.reciprocal.view().cols();
  return problem;
}

}  // namespace octet::models::internal
