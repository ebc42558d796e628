// SPDX-License-Identifier: Apache-2.0

// The launchers of the gated activation's fused casts: plain pointers, for the
// leaf alone.
#ifndef OCTET_MODELS_LAYERS_CUDA_SWIGLU_CAST_KERNEL_H_
#define OCTET_MODELS_LAYERS_CUDA_SWIGLU_CAST_KERNEL_H_

#include <cuda_runtime_api.h>

#include "models/layers/cuda/tile_cast.h"

namespace octet::models::internal {

// bf16, 16-byte aligned; rows a multiple of 16 and cols of 8, both > 0.
cudaError_t LaunchSwigluCast(const void* gate, const void* up,
                             TileScaling scaling,
                             const TileCastProblem<1>& problem,
                             cudaStream_t stream);

// Outputs: dgate, dup. Their `plain` may be the memory of gate, up or dy.
cudaError_t LaunchSwigluBackwardCast(const void* gate, const void* up,
                                     const void* dy, TileScaling scaling,
                                     const TileCastProblem<2>& problem,
                                     cudaStream_t stream);

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_SWIGLU_CAST_KERNEL_H_
