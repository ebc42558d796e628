// SPDX-License-Identifier: Apache-2.0

// Fused casts as their kernels see them. For CUDA leaves only.
#ifndef OCTET_MODELS_LAYERS_OUTPUT_CAST_CUDA_H_
#define OCTET_MODELS_LAYERS_OUTPUT_CAST_CUDA_H_

#include "base/tensor.h"
#include "float8/scaling.h"
#include "models/layers/cuda/row_cast.h"
#include "models/layers/cuda/tile_cast.h"
#include "models/layers/output_cast.h"

namespace octet::models::internal {

// `fusion` is not kNone, and the casts' tensors are allocated.
TileScaling TileScalingOf(TileFusion fusion);

// `plain` is where the output itself goes, absent for nowhere.
TileCastOutput TileCastOutputOf(const OutputCast& cast, const TensorView& plain,
                                TileFusion fusion);

// Of a row-major cast with a known scale, by row or by 1x128.
RowCast RowCastOf(const OutputCast& cast);
RowCastProblem RowCastProblemOf(const OutputCast& cast);

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_OUTPUT_CAST_CUDA_H_
