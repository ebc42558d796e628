// SPDX-License-Identifier: Apache-2.0

// The gated activation and its gradients, quantised where they are made.
#include "models/layers/cuda/swiglu_cast_kernel.h"
#include "models/layers/cuda/swiglu_math.cuh"
#include "models/layers/cuda/tile_cast.cuh"

namespace octet::models::internal {
namespace {

using Bf16 = __nv_bfloat16;

__device__ __forceinline__ uint4 VectorAt(const void* data, int64_t offset) {
  return *reinterpret_cast<const uint4*>(static_cast<const Bf16*>(data) +
                                         offset);
}

struct SwigluProducer {
  static constexpr int kOutputs = 1;
  static constexpr int kRows = 8;
  static constexpr int kBlocks = 4;
  static constexpr int kBatch = 4;
  struct Raw {
    uint4 gate;
    uint4 up;
  };

  const void* gate;
  const void* up;

  __device__ __forceinline__ void Prepare(int64_t) {}
  __device__ __forceinline__ void Load(int64_t, int64_t offset,
                                       Raw* raw) const {
    raw->gate = VectorAt(gate, offset);
    raw->up = VectorAt(up, offset);
  }
  __device__ __forceinline__ void Make(const Raw& raw, uint4 (&out)[1]) const {
    out[0] = SwigluOf<Bf16>(raw.gate, raw.up);
  }
};

struct SwigluBackwardProducer {
  static constexpr int kOutputs = 2;
  static constexpr int kRows = 4;
  static constexpr int kBlocks = 2;
  static constexpr int kBatch = 2;
  struct Raw {
    uint4 gate;
    uint4 up;
    uint4 dy;
  };

  const void* gate;
  const void* up;
  const void* dy;

  __device__ __forceinline__ void Prepare(int64_t) {}
  __device__ __forceinline__ void Load(int64_t, int64_t offset,
                                       Raw* raw) const {
    raw->gate = VectorAt(gate, offset);
    raw->up = VectorAt(up, offset);
    raw->dy = VectorAt(dy, offset);
  }
  __device__ __forceinline__ void Make(const Raw& raw, uint4 (&out)[2]) const {
    SwigluGradients<Bf16>(raw.gate, raw.up, raw.dy, &out[0], &out[1]);
  }
};

}  // namespace

cudaError_t LaunchSwigluCast(const void* gate, const void* up,
                             TileScaling scaling, const TileCastProblem<1>& p,
                             cudaStream_t stream) {
  return LaunchTileCast(SwigluProducer{gate, up}, scaling, p, stream);
}

cudaError_t LaunchSwigluBackwardCast(const void* gate, const void* up,
                                     const void* dy, TileScaling scaling,
                                     const TileCastProblem<2>& p,
                                     cudaStream_t stream) {
  return LaunchTileCast(SwigluBackwardProducer{gate, up, dy}, scaling, p,
                        stream);
}

}  // namespace octet::models::internal
