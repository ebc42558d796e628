// SPDX-License-Identifier: Apache-2.0

// What a tile-wise cast writes: plain pointers, for the leaves alone.
#ifndef OCTET_MODELS_LAYERS_CUDA_TILE_CAST_H_
#define OCTET_MODELS_LAYERS_CUDA_TILE_CAST_H_

#include <cstdint>

#include "float8/cuda/types.h"

namespace octet::models::internal {

using float8::internal::Fp8;
using float8::internal::kTile;

enum class TileScaling : uint8_t {
  kKnown,  // one scale for the matrix, given
  kLocal,  // 1x128 for data, 128x1 for transposed, from the tile
};

struct TileCastShape {
  int64_t rows;
  int64_t cols;
};

// Layouts as in float8/scaling.h. Pointers that may be null say so.
struct TileCastOutput {
  void* plain;          // the elements in bf16 [rows, cols], or null
  uint8_t* data;        // [rows, cols], or null
  uint8_t* transposed;  // [cols, rows], or null
  Fp8 data_format;      // of both, for kKnown
  Fp8 transposed_format;
  bool data_power_of_two;  // kLocal
  bool transposed_power_of_two;
  const float* known_scale;  // kKnown: [1]
  float* scale;              // kKnown: [1], or null
  float* reciprocal;         // kKnown: [1]
  float* seen_amax;          // kKnown: [1], or null
  float* row_scale;          // kLocal, of data
  float* row_reciprocal;
  float* col_scale;  // kLocal, of transposed
  float* col_reciprocal;
};

template <int kOutputs>
struct TileCastProblem {
  TileCastShape shape;
  TileCastOutput out[kOutputs];
  unsigned* counters;  // the stream's; for seen_amax alone
};

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_TILE_CAST_H_
