// SPDX-License-Identifier: Apache-2.0

// The launchers of the normalisation's fused casts: plain pointers, for the
// leaf alone.
#ifndef OCTET_MODELS_LAYERS_CUDA_RMS_NORM_CAST_KERNEL_H_
#define OCTET_MODELS_LAYERS_CUDA_RMS_NORM_CAST_KERNEL_H_

#include <cuda_runtime_api.h>

#include "models/layers/cuda/rms_norm_kernel.h"
#include "models/layers/cuda/row_cast.h"
#include "models/layers/cuda/tile_cast.h"

namespace octet::models::internal {

// bf16, all pointers 16-byte aligned; hidden a multiple of 8, at most 16384.

// One pass, for what is row-major and known or local to a row: `cast` is not
// kNone. norm.amax takes what a history sees.
cudaError_t LaunchRmsNormRowCast(const RmsNormForwardProblem& norm,
                                 RowCast cast, const RowCastProblem& problem,
                                 cudaStream_t stream);

// For transposed bytes: x and rstd, then y from x tile by tile, quantised
// without being written. rows a multiple of 16.
cudaError_t LaunchRmsNormTileCast(const RmsNormForwardProblem& norm,
                                  TileScaling scaling,
                                  const TileCastProblem<1>& problem,
                                  cudaStream_t stream);

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_RMS_NORM_CAST_KERNEL_H_
