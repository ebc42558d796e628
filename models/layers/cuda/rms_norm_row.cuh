// SPDX-License-Identifier: Apache-2.0

// The normalisation of rows that a block holds in registers, and what can be
// quantised on the way because a row is enough to know its scale.
//
// A block takes a row, or a few where it has an amax to hand in at its end:
// many short blocks hide each other's waiting better than few long ones that
// load ahead. Products are never contracted, so that y has the same bits
// whatever is made of it.
#ifndef OCTET_MODELS_LAYERS_CUDA_RMS_NORM_ROW_CUH_
#define OCTET_MODELS_LAYERS_CUDA_RMS_NORM_ROW_CUH_

#include <algorithm>

#include "models/layers/cuda/encode_vector.cuh"
#include "models/layers/cuda/rms_norm_kernel.h"
#include "models/layers/cuda/row_cast.h"
#include "models/layers/cuda/vector.cuh"

namespace octet::models::internal {

__device__ __forceinline__ float NormScale(float sum, int64_t hidden,
                                           float epsilon) {
  const float mean = __fdiv_rn(sum, static_cast<float>(hidden));
  return __frcp_rn(__fsqrt_rn(__fadd_rn(mean, epsilon)));
}

template <typename T>
__device__ __forceinline__ uint4 Normalised(const uint4& x, float rstd,
                                            const uint4& weight) {
  float a[kPerVector<T>], w[kPerVector<T>];
  Unpack<T>(x, a);
  Unpack<T>(weight, w);
#pragma unroll
  for (int i = 0; i < kPerVector<T>; ++i) {
    a[i] = __fmul_rn(__fmul_rn(a[i], rstd), w[i]);
  }
  return Pack<T>(a);
}

template <typename T>
__device__ __forceinline__ uint4 Sum(const uint4& x, const uint4& y) {
  float a[kPerVector<T>], b[kPerVector<T>];
  Unpack<T>(x, a);
  Unpack<T>(y, b);
#pragma unroll
  for (int i = 0; i < kPerVector<T>; ++i) a[i] = __fadd_rn(a[i], b[i]);
  return Pack<T>(a);
}

template <typename T>
__device__ __forceinline__ float SumOfSquares(const uint4& x, float sum) {
  float a[kPerVector<T>];
  Unpack<T>(x, a);
#pragma unroll
  for (int i = 0; i < kPerVector<T>; ++i) sum = __fmaf_rn(a[i], a[i], sum);
  return sum;
}

// This thread's part of a row, zeros beyond its end.
template <int kVectors>
__device__ __forceinline__ void LoadRow(const uint4* row, int64_t vectors,
                                        uint4 (&out)[kVectors]) {
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int64_t i = static_cast<int64_t>(v) * blockDim.x + threadIdx.x;
    out[v] = i < vectors ? row[i] : uint4{0, 0, 0, 0};
  }
}

// Vectors of a row's y to bytes. `largest` is the bits of the row's amax, which
// kRow alone looks at. 16 lanes share a 1x128 block.
template <RowCast kCast, int kVectors>
__device__ __forceinline__ void CastRow(const RowCastProblem& c,
                                        const uint4 (&y)[kVectors], int64_t row,
                                        int64_t vectors, unsigned largest) {
  float scale = 0.0f;
  if constexpr (kCast == RowCast::kKnownScale) scale = *c.known_scale;
  if constexpr (kCast == RowCast::kRow) {
    scale = ScaleFromBits(c.format, largest, c.power_of_two);
    if (threadIdx.x == 0) {
      c.scale[row] = scale;
      c.reciprocal[row] = float8::internal::Reciprocal(scale);
    }
  }
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int64_t i = static_cast<int64_t>(v) * blockDim.x + threadIdx.x;
    if constexpr (kCast == RowCast::kBlock1x128) {
      unsigned bits = AbsBitsOf<__nv_bfloat16>(y[v]);
#pragma unroll
      for (int offset = 8; offset > 0; offset /= 2) {
        bits = max(bits, __shfl_xor_sync(kFullWarp, bits, offset));
      }
      scale = ScaleFromBits(c.format, bits, c.power_of_two);
      if (threadIdx.x % 16 == 0 && i < vectors) {
        const int64_t block = i / 16;
        c.scale[row * ((vectors + 15) / 16) + block] = scale;
        c.reciprocal[block * c.reciprocal_stride + row] =
            float8::internal::Reciprocal(scale);
      }
    }
    if (i < vectors) {
      reinterpret_cast<uint2*>(c.data)[row * vectors + i] =
          EncodeVector(c.format, y[v], scale);
    }
  }
}

// Threads that leave enough registers for a row.
template <typename T, int kVectors>
inline constexpr int kMaxRowThreads = kVectors == 4 && sizeof(T) == 2 ? 512
                                                                      : 1024;

template <typename T, int kVectors, RowCast kCast>
__global__ void __launch_bounds__(kMaxRowThreads<T, kVectors>)
    RmsNormRowKernel(RmsNormForwardProblem p, RowCastProblem c) {
  __shared__ float sums[2][32];
  __shared__ unsigned maxima[2][32];
  const int64_t vectors = p.hidden / kPerVector<T>;
  const auto* residual = static_cast<const uint4*>(p.residual);
  const auto* delta = static_cast<const uint4*>(p.delta);
  uint4 weight[kVectors];
  LoadRow(static_cast<const uint4*>(p.weight), vectors, weight);
  if (kCast == RowCast::kKnownScale && blockIdx.x == 0 && threadIdx.x == 0) {
    if (c.scale != nullptr) *c.scale = *c.known_scale;
    *c.reciprocal = float8::internal::Reciprocal(*c.known_scale);
  }
  unsigned largest = 0;
  int turn = 0;
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    uint4 a[kVectors], b[kVectors];
    LoadRow(residual + row * vectors, vectors, a);
    if (delta != nullptr) LoadRow(delta + row * vectors, vectors, b);
    uint4 x[kVectors];
    float sum = 0.0f;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int64_t i = static_cast<int64_t>(v) * blockDim.x + threadIdx.x;
      x[v] = a[v];
      if (delta != nullptr) {
        x[v] = Sum<T>(a[v], b[v]);
        if (i < vectors) static_cast<uint4*>(p.x)[row * vectors + i] = x[v];
      }
      sum = SumOfSquares<T>(x[v], sum);
    }
    const float rstd =
        NormScale(BlockSum(sum, sums[turn]), p.hidden, p.epsilon);
    if (threadIdx.x == 0) p.rstd[row] = rstd;
    unsigned row_largest = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int64_t i = static_cast<int64_t>(v) * blockDim.x + threadIdx.x;
      KeepPacked(&x[v]);
      x[v] = Normalised<T>(x[v], rstd, weight[v]);
      row_largest = max(row_largest, AbsBitsOf<T>(x[v]));
      if (p.y != nullptr && i < vectors) {
        static_cast<uint4*>(p.y)[row * vectors + i] = x[v];
      }
    }
    largest = max(largest, row_largest);
    if constexpr (kCast == RowCast::kRow) {
      row_largest = float8::internal::BlockMax(row_largest, maxima[turn]);
    }
    if constexpr (kCast != RowCast::kNone) {
      CastRow<kCast>(c, x, row, vectors, row_largest);
    }
    turn ^= 1;
  }
  if (p.amax != nullptr) GridMax<1>({largest}, p.counters, {p.amax});
}

// The most threads of a block with 1, 2 and 4 vectors each.
struct RowLimits {
  int threads[3];
};
template <typename T>
inline constexpr RowLimits kRowLimits = {{256, 512, kMaxRowThreads<T, 4>}};

// Vectors of a row that a thread takes, few enough to stay in registers; 0 if
// rows are not whole vectors or too long.
inline int VectorsPerThread(int64_t hidden, int per_vector,
                            const RowLimits& limits) {
  if (hidden % per_vector != 0) return 0;
  const int64_t vectors = hidden / per_vector;
  for (int i = 0; i < 3; ++i) {
    const int each = 1 << i;
    if ((vectors + each - 1) / each <= limits.threads[i]) return each;
  }
  return 0;
}

inline int RowThreads(int64_t hidden, int per_vector, int vectors) {
  const int64_t all = hidden / per_vector;
  const int64_t threads = (all + vectors - 1) / vectors;
  return static_cast<int>((threads + 31) / 32 * 32);
}

// Rows of a block that ends with an amax: its end costs as much as a quarter of
// a row, and longer blocks cost more.
inline constexpr int64_t kRowsForAmax = 2;

template <typename T, int kVectors, RowCast kCast>
cudaError_t LaunchRows(const RmsNormForwardProblem& p, const RowCastProblem& c,
                       cudaStream_t stream) {
  const int threads = RowThreads(p.hidden, kPerVector<T>, kVectors);
  int64_t each = 1;
  if (p.amax != nullptr) {
    const int resident =
        ResidentBlocks<&RmsNormRowKernel<T, kVectors, kCast>>(threads);
    each = std::clamp<int64_t>(p.rows / resident, 1, kRowsForAmax);
  }
  const int64_t blocks = (p.rows + each - 1) / each;
  RmsNormRowKernel<T, kVectors, kCast>
      <<<static_cast<unsigned>(blocks), threads, 0, stream>>>(p, c);
  return cudaGetLastError();
}

// `vectors` is VectorsPerThread's, not 0.
template <typename T, RowCast kCast>
cudaError_t LaunchRows(int vectors, const RmsNormForwardProblem& p,
                       const RowCastProblem& c, cudaStream_t stream) {
  switch (vectors) {
    case 1:
      return LaunchRows<T, 1, kCast>(p, c, stream);
    case 2:
      return LaunchRows<T, 2, kCast>(p, c, stream);
    default:
      return LaunchRows<T, 4, kCast>(p, c, stream);
  }
}

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_RMS_NORM_ROW_CUH_
