// SPDX-License-Identifier: Apache-2.0

// The normalisation, quantised where it is made.
#include "models/layers/cuda/rms_norm_cast_kernel.h"
#include "models/layers/cuda/rms_norm_row.cuh"
#include "models/layers/cuda/tile_cast.cuh"

namespace octet::models::internal {
namespace {

using Bf16 = __nv_bfloat16;

struct NormProducer {
  static constexpr int kOutputs = 1;
  static constexpr int kRows = 8;
  static constexpr int kBlocks = 4;
  static constexpr int kBatch = 4;
  struct Raw {
    uint4 x;
    float rstd;
  };

  const Bf16* x;
  const Bf16* weight;
  const float* rstd;
  uint4 columns;  // the weight of the thread's columns

  __device__ __forceinline__ void Prepare(int64_t col) {
    columns = *reinterpret_cast<const uint4*>(weight + col);
  }
  __device__ __forceinline__ void Load(int64_t row, int64_t offset,
                                       Raw* raw) const {
    raw->x = *reinterpret_cast<const uint4*>(x + offset);
    raw->rstd = rstd[row];
  }
  __device__ __forceinline__ void Make(const Raw& raw, uint4 (&out)[1]) const {
    out[0] = Normalised<Bf16>(raw.x, raw.rstd, columns);
  }
};

int Vectors(int64_t hidden) {
  return VectorsPerThread(hidden, kPerVector<Bf16>, kRowLimits<Bf16>);
}

}  // namespace

cudaError_t LaunchRmsNormRowCast(const RmsNormForwardProblem& norm,
                                 RowCast cast, const RowCastProblem& p,
                                 cudaStream_t stream) {
  const int vectors = Vectors(norm.hidden);
  if (vectors == 0) return cudaErrorInvalidValue;
  switch (cast) {
    case RowCast::kKnownScale:
      return LaunchRows<Bf16, RowCast::kKnownScale>(vectors, norm, p, stream);
    case RowCast::kRow:
      return LaunchRows<Bf16, RowCast::kRow>(vectors, norm, p, stream);
    case RowCast::kBlock1x128:
      return LaunchRows<Bf16, RowCast::kBlock1x128>(vectors, norm, p, stream);
    case RowCast::kNone:
      break;
  }
  return cudaErrorInvalidValue;
}

cudaError_t LaunchRmsNormTileCast(const RmsNormForwardProblem& norm,
                                  TileScaling scaling,
                                  const TileCastProblem<1>& p,
                                  cudaStream_t stream) {
  const cudaError_t error = LaunchRmsNormForward(norm, stream);
  if (error != cudaSuccess) return error;
  const void* x = norm.delta == nullptr ? norm.residual : norm.x;
  const NormProducer producer = {static_cast<const Bf16*>(x),
                                 static_cast<const Bf16*>(norm.weight),
                                 norm.rstd,
                                 {}};
  return LaunchTileCast(producer, scaling, p, stream);
}

}  // namespace octet::models::internal
