// SPDX-License-Identifier: Apache-2.0

// What a cast of whole rows writes: plain pointers, for the leaves alone.
#ifndef OCTET_MODELS_LAYERS_CUDA_ROW_CAST_H_
#define OCTET_MODELS_LAYERS_CUDA_ROW_CAST_H_

#include <cstdint>

#include "float8/cuda/types.h"

namespace octet::models::internal {

enum class RowCast : uint8_t { kNone, kKnownScale, kRow, kBlock1x128 };

// Where a row's bytes and scales go; layouts as in float8/scaling.h.
struct RowCastProblem {
  uint8_t* data;
  float8::internal::Fp8 format;
  bool power_of_two;
  const float* known_scale;  // [1]; kKnownScale alone
  float* scale;              // null only for kKnownScale: not written
  float* reciprocal;
  int64_t reciprocal_stride;  // kBlock1x128: elements between two blocks
};

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_ROW_CAST_H_
