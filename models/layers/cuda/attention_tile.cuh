// SPDX-License-Identifier: Apache-2.0

// What a block of the plain attention computes with: products of tiles of 64
// rows, staged in shared memory as f32.
//
// 256 threads are 16 rows of 16. Thread (ty, tx) has the rows 4 ty ... 4 ty + 3
// of the first factor; of a 64 x 64 product the columns 4 tx ... 4 tx + 3, of a
// 64 x head_dim one the columns tx, tx + 16, ... Sums have one order.
#ifndef OCTET_MODELS_LAYERS_CUDA_ATTENTION_TILE_CUH_
#define OCTET_MODELS_LAYERS_CUDA_ATTENTION_TILE_CUH_

#include <cstdint>

#include "models/layers/cuda/vector.cuh"

namespace octet::models::internal {

constexpr int kTileRows = 64;
constexpr int kTileThreads = 256;
constexpr int kTileLd = kTileRows + 4;  // keeps four floats aligned
constexpr int kStep = 16;               // of what is summed over

// Rows of one head, `stride` elements apart, of which `count` are there; the
// rest reads as 0.
template <typename T>
struct TileRows {
  const T* data;
  int64_t stride;
  int64_t count;
  int head_dim;
};

template <typename T>
__device__ __forceinline__ TileRows<T> RowsOf(const void* tensor, int64_t batch,
                                              int64_t length, int64_t heads,
                                              int64_t head, int head_dim,
                                              int64_t first) {
  const int64_t stride = heads * head_dim;
  return {static_cast<const T*>(tensor) + (batch * length + first) * stride +
              head * head_dim,
          stride, length - first, head_dim};
}

// `a` and `b` of RowProducts, and `rows` of AddWeighted, are used by turns.
template <int kColumns>
struct alignas(16) TileShared {
  union {
    struct {
      float a[kStep][kTileLd];
      float b[kStep][kTileLd];
    };
    float rows[kStep][16 * kColumns];
  };
  float weights[kTileRows][kTileLd];
};

// Columns [first, first + kStep) of 64 rows, transposed.
template <typename T>
__device__ __forceinline__ void Stage(const TileRows<T>& rows, int first,
                                      float (&out)[kStep][kTileLd]) {
  const int column = threadIdx.x % kStep;
#pragma unroll
  for (int row = threadIdx.x / kStep; row < kTileRows;
       row += kTileThreads / kStep) {
    const bool there = row < rows.count && first + column < rows.head_dim;
    out[column][row] = there
                           ? float8::internal::ToFloat(
                                 rows.data[row * rows.stride + first + column])
                           : 0.0f;
  }
}

// product[i][j] = a's row 4 ty + i times b's row 4 tx + j.
template <int kColumns, typename T>
__device__ __forceinline__ void RowProducts(const TileRows<T>& a,
                                            const TileRows<T>& b,
                                            TileShared<kColumns>* shared,
                                            float (&product)[4][4]) {
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) product[i][j] = 0.0f;
  }
  for (int first = 0; first < a.head_dim; first += kStep) {
    __syncthreads();
    Stage(a, first, shared->a);
    Stage(b, first, shared->b);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kStep; ++k) {
      const float4 x = *reinterpret_cast<const float4*>(&shared->a[k][4 * ty]);
      const float4 y = *reinterpret_cast<const float4*>(&shared->b[k][4 * tx]);
      const float rows[4] = {x.x, x.y, x.z, x.w};
      const float columns[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          product[i][j] = __fmaf_rn(rows[i], columns[j], product[i][j]);
        }
      }
    }
  }
}

// sum[i][c] += over j of weight's [row 4 ty + i, column j] times element
// tx + 16 c of row j, where `weight` has the thread's part of a 64 x 64 matrix.
// kColumns * 16 >= head_dim. A barrier goes between two calls.
template <int kColumns, typename T>
__device__ __forceinline__ void AddWeighted(const float (&weight)[4][4],
                                            const TileRows<T>& rows,
                                            TileShared<kColumns>* shared,
                                            float (&sum)[4][kColumns]) {
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    *reinterpret_cast<float4*>(&shared->weights[4 * tx + j][4 * ty]) = {
        weight[0][j], weight[1][j], weight[2][j], weight[3][j]};
  }
  for (int first = 0; first < kTileRows; first += kStep) {
    __syncthreads();
    for (int at = threadIdx.x; at < kStep * 16 * kColumns; at += kTileThreads) {
      const int row = at / (16 * kColumns), column = at % (16 * kColumns);
      const bool there = first + row < rows.count && column < rows.head_dim;
      shared->rows[row][column] =
          there ? float8::internal::ToFloat(
                      rows.data[(first + row) * rows.stride + column])
                : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kStep; ++k) {
      const float4 w =
          *reinterpret_cast<const float4*>(&shared->weights[first + k][4 * ty]);
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const float x = shared->rows[k][tx + 16 * c];
        sum[0][c] = __fmaf_rn(w.x, x, sum[0][c]);
        sum[1][c] = __fmaf_rn(w.y, x, sum[1][c]);
        sum[2][c] = __fmaf_rn(w.z, x, sum[2][c]);
        sum[3][c] = __fmaf_rn(w.w, x, sum[3][c]);
      }
    }
  }
}

// Rows that are there, times factor[i].
template <int kColumns, typename T>
__device__ __forceinline__ void StoreSum(const float (&sum)[4][kColumns],
                                         const float (&factor)[4],
                                         const TileRows<T>& rows) {
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
  T* const out = const_cast<T*>(rows.data);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (4 * ty + i >= rows.count) continue;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      if (tx + 16 * c >= rows.head_dim) continue;
      Narrow(sum[i][c] * factor[i],
             &out[(4 * ty + i) * rows.stride + tx + 16 * c]);
    }
  }
}

// Over the 16 threads that share rows.
__device__ __forceinline__ float RowMax(float x) {
#pragma unroll
  for (int offset = 8; offset > 0; offset /= 2) {
    x = fmaxf(x, __shfl_xor_sync(kFullWarp, x, offset));
  }
  return x;
}
__device__ __forceinline__ float RowSum(float x) {
#pragma unroll
  for (int offset = 8; offset > 0; offset /= 2) {
    x = __fadd_rn(x, __shfl_xor_sync(kFullWarp, x, offset));
  }
  return x;
}

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_ATTENTION_TILE_CUH_
