// SPDX-License-Identifier: Apache-2.0

// What casting a tensor to float8 loses.
#ifndef OCTET_TOOLS_CAST_ERROR_H_
#define OCTET_TOOLS_CAST_ERROR_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/scaling.h"

namespace octet::tools {

struct CastError {
  int64_t elements = 0;
  int64_t not_finite = 0;   // NaN or infinite in the input
  int64_t saturated = 0;    // rounded past the largest value, clamped to it
  int64_t underflowed = 0;  // not zero, but zero in float8
  // 10 log10(sum x^2 / sum (x - dequantised)^2), in double. Infinite when
  // nothing was lost, NaN when an input or a result is not finite.
  double sqnr_db = 0.0;
};

// Casts `in` (f32, bf16 or f16 in host memory) by the plan, with scales of its
// own, and compares. InvalidArgument for another dtype.
absl::StatusOr<CastError> MeasureCast(const TensorView& in,
                                      const float8::CastPlan& plan);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_CAST_ERROR_H_
