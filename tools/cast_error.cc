// SPDX-License-Identifier: Apache-2.0
#include "tools/cast_error.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/float16.h"
#include "base/status_macros.h"
#include "float8/cast.h"
#include "float8/format.h"

namespace octet::tools {
namespace {

float ElementAt(const TensorView& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kBf16:
      return ToFloat(tensor.as<Bfloat16>()[i]);
    case DType::kF16:
      return ToFloat(tensor.as<Float16>()[i]);
    default:
      return tensor.as<float>()[i];
  }
}

double Sqnr(double signal, double noise) {
  if (noise == 0.0) return std::numeric_limits<double>::infinity();
  return 10.0 * std::log10(signal / noise);
}

}  // namespace

absl::StatusOr<CastError> MeasureCast(const TensorView& in,
                                      const float8::CastPlan& plan) {
  const Stream cpu;
  float8::Quantized q;
  OCTET_RETURN_IF_ERROR(float8::Cast(cpu, in, plan, &q));
  OCTET_ASSIGN_OR_RETURN(const Tensor back,
                         Tensor::Allocate(DType::kF32, in.shape()));
  OCTET_RETURN_IF_ERROR(float8::Dequantize(cpu, q, back));

  const int64_t cols = in.cols();
  const float8::Tile tile = float8::TileOf(plan.granularity);
  const int64_t scale_cols = q.scale.shape().cols();
  CastError error;
  error.elements = in.num_elements();
  double signal = 0.0, noise = 0.0;
  for (int64_t i = 0; i < error.elements; ++i) {
    const float x = ElementAt(in, i);
    const int64_t scale_row = tile.rows == 0 ? 0 : i / cols / tile.rows;
    const int64_t scale_col = tile.cols == 0 ? 0 : i % cols / tile.cols;
    const float scale = q.scale.as<float>()[scale_row * scale_cols + scale_col];
    const uint8_t code = q.data.as<uint8_t>()[i];
    if (!std::isfinite(x)) {
      ++error.not_finite;
    } else {
      error.saturated += code != float8::Encode(x * scale, plan.dtype,
                                                float8::Overflow::kNonFinite);
      error.underflowed += x != 0.0f && (code & 0x7f) == 0;
    }
    const double difference =
        static_cast<double>(x) - static_cast<double>(back.as<float>()[i]);
    signal += static_cast<double>(x) * x;
    noise += difference * difference;
  }
  error.sqnr_db = Sqnr(signal, noise);
  return error;
}

}  // namespace octet::tools
