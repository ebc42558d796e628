// SPDX-License-Identifier: Apache-2.0

// One 128x128 tile quantised by a block of 256 threads, from one read: amax,
// scales, row-major bytes, and through shared memory the transposed ones in
// whole 128-byte rows.
#ifndef OCTET_FLOAT8_CUDA_CAST_TILE_CUH_
#define OCTET_FLOAT8_CUDA_CAST_TILE_CUH_

#include "float8/cuda/cast_kernel.h"
#include "float8/cuda/tile.cuh"

namespace octet::float8::internal {

// How wide the memory of a problem lets accesses be.
struct CastAccess {
  bool in_vectors;       // rows of `in` start at multiples of 16 bytes
  bool data_vectors;     // rows of `data` at multiples of a thread's bytes
  int transposed_bytes;  // 16, 4 or 1: of a store to `transposed`
};

struct CastShared {
  uint4 bytes[kTile * kTile / 16];  // transposed; before, maxima and sums
  float scales[2][kTile];
  unsigned amax[2][kTile];
};

__device__ __forceinline__ bool IsClosed(const CastGate& gate) {
  return gate.history_amax != nullptr && *gate.history_amax != 0.0f &&
         isfinite(*gate.seen_amax);
}

__device__ __forceinline__ int64_t OffsetOf(const ScaleArray& a, int64_t i,
                                            int64_t j) {
  return i * a.row_stride + j * a.col_stride;
}

// Whether (i, j) is the one of those that share an element which writes it.
__device__ __forceinline__ void Put(const ScaleArray& a, int64_t i, int64_t j,
                                    float value) {
  if (a.data == nullptr || (a.row_stride == 0 && i != 0) ||
      (a.col_stride == 0 && j != 0)) {
    return;
  }
  a.data[OffsetOf(a, i, j)] = value;
}

__device__ __forceinline__ void PutSeenAmax(const ScaleTarget& t, int64_t i,
                                            int64_t j, unsigned bits) {
  float* const seen = t.seen_amax + OffsetOf(t.scale, i, j);
  if (t.scale.row_stride == 0 || t.scale.col_stride == 0) {
    AtomicMax(seen, bits);
  } else {
    *seen = __uint_as_float(bits);
  }
}

__device__ __forceinline__ bool NeedsTileAmax(const ScaleTarget& t) {
  return t.source == ScaleSource::kTile || t.seen_amax != nullptr;
}

// The scale of (i, j), whose amax is `bits` where the source is not an array;
// one caller of all that share it writes it.
template <Fp8 kFormat>
__device__ __forceinline__ float Settle(const ScaleTarget& t, int64_t i,
                                        int64_t j, unsigned bits, bool writes) {
  float scale;
  if (t.source == ScaleSource::kScale) {
    scale = t.from[OffsetOf(t.scale, i, j)];
  } else {
    const float amax = t.source == ScaleSource::kAmax
                           ? t.from[OffsetOf(t.scale, i, j)]
                           : __uint_as_float(bits);
    scale = ScaleFromAmax<kFormat>(amax, t.power_of_two);
  }
  if (writes) {
    const float reciprocal = Reciprocal(scale);
    if (t.source != ScaleSource::kScale) Put(t.scale, i, j, scale);
    Put(t.reciprocal, i, j, reciprocal);
    Put(t.transposed_reciprocal, i, j, reciprocal);
  }
  return scale;
}

// The scale of a whole tile (i, j); `bits` is the thread's share of its amax.
template <typename T, Fp8 kFormat>
__device__ __forceinline__ float TileScale(const MatrixIn& in,
                                           const ScaleTarget& t, int64_t i,
                                           int64_t j, unsigned bits,
                                           unsigned (*shared)[kTile]) {
  if (NeedsTileAmax(t)) {
    bits = BlockMax(bits, shared[0]);
    if (t.seen_amax != nullptr && threadIdx.x == 0) PutSeenAmax(t, i, j, bits);
  }
  if (t.source == ScaleSource::kInput) {
    bits =
        BlockMax(AmaxOfSpan<T, 8>(static_cast<const T*>(in.data),
                                  in.rows * in.cols, threadIdx.x, blockDim.x),
                 shared[1]);
  }
  return Settle<kFormat>(t, i, j, bits, threadIdx.x == 0);
}

// scales[r] of the tile's rows.
template <typename T, Fp8 kFormat>
__device__ __forceinline__ void RowScales(const CastProblem& p,
                                          const uint4 (&v)[TileMap<T>::kRows],
                                          int64_t tile_row, int64_t tile_col,
                                          unsigned* amax, float* scales) {
  const ScaleTarget& t = p.scale;
  const bool needs_amax = NeedsTileAmax(t);
  if (needs_amax) {
    AmaxOfRows<T>(v, amax);
    __syncthreads();
  }
  const int64_t row = tile_row * kTile + threadIdx.x;
  if (threadIdx.x < kTile && row < p.in.rows) {
    const unsigned bits = needs_amax ? amax[threadIdx.x] : 0;
    if (t.seen_amax != nullptr) PutSeenAmax(t, row, tile_col, bits);
    scales[threadIdx.x] = Settle<kFormat>(t, row, tile_col, bits, true);
  }
}

// scales[c] of the tile's columns; `shared` holds maxima for a while.
template <typename T, Fp8 kFormat>
__device__ __forceinline__ void ColumnScales(
    const CastProblem& p, const ScaleTarget& t,
    const uint4 (&v)[TileMap<T>::kRows], int64_t tile_row, int64_t tile_col,
    uint4* shared, float* scales) {
  const bool needs_amax = NeedsTileAmax(t);
  if (needs_amax) {
    uint4 largest = make_uint4(0, 0, 0, 0);
    MaxOfColumns<T>(v, &largest);
    ShareMaxOfColumns<T>(largest, shared);
    __syncthreads();
  }
  const int64_t col = tile_col * kTile + threadIdx.x;
  if (threadIdx.x < kTile && col < p.in.cols) {
    const unsigned bits = needs_amax ? ColumnAmax<T>(shared, threadIdx.x) : 0;
    if (t.seen_amax != nullptr) PutSeenAmax(t, tile_row, col, bits);
    scales[threadIdx.x] = Settle<kFormat>(t, tile_row, col, bits, true);
  }
}

// Sums of the tile's columns, always in the same order.
template <typename T>
__device__ __forceinline__ void SumColumns(const CastProblem& p,
                                           const uint4 (&v)[TileMap<T>::kRows],
                                           int64_t tile_row, int64_t tile_col,
                                           float* shared) {
  using Map = TileMap<T>;
  float sums[Map::kCols] = {};
#pragma unroll
  for (int i = 0; i < Map::kRows; ++i) {
    float x[Map::kCols];
    Unpack<T>(v[i], x);
#pragma unroll
    for (int k = 0; k < Map::kCols; ++k) sums[k] += x[k];
  }
#pragma unroll
  for (int k = 0; k < Map::kCols; ++k) {
    if constexpr (Map::kAcross == 16) {
      sums[k] += __shfl_xor_sync(kFullWarp, sums[k], 16);
    }
    if (threadIdx.x % 32 < Map::kAcross) {
      shared[threadIdx.x / 32 * kTile + Map::Col() + k] = sums[k];
    }
  }
  __syncthreads();
  const int64_t col = tile_col * kTile + threadIdx.x;
  if (threadIdx.x < kTile && col < p.in.cols) {
    float sum = 0.0f;
    for (int warp = 0; warp < kTileWarps; ++warp) {
      sum += shared[warp * kTile + threadIdx.x];
    }
    p.column_partials[tile_row * p.in.cols + col] = sum;
  }
  __syncthreads();
}

template <typename T>
using TileBytes = uint32_t[TileMap<T>::kRows][TileMap<T>::kCols / 4];

template <typename T, Fp8 kFormat, typename ScaleOf>
__device__ __forceinline__ void EncodeTile(const uint4 (&v)[TileMap<T>::kRows],
                                           ScaleOf scale_of, TileBytes<T>& q) {
  using Map = TileMap<T>;
#pragma unroll
  for (int i = 0; i < Map::kRows; ++i) {
    float x[Map::kCols];
    Unpack<T>(v[i], x);
#pragma unroll
    for (int k = 0; k < Map::kCols; k += 4) {
      q[i][k / 4] = Encode4<kFormat>(Scaled(x[k], scale_of(i, k)),
                                     Scaled(x[k + 1], scale_of(i, k + 1)),
                                     Scaled(x[k + 2], scale_of(i, k + 2)),
                                     Scaled(x[k + 3], scale_of(i, k + 3)));
    }
  }
}

template <typename T>
__device__ __forceinline__ void StoreRows(const CastProblem& p, int64_t row,
                                          int64_t col, bool vectors,
                                          const TileBytes<T>& q) {
  using Map = TileMap<T>;
  const int64_t r = row + Map::Row(), c = col + Map::Col();
  uint8_t* const to = p.data + r * p.in.cols + c;
#pragma unroll
  for (int i = 0; i < Map::kRows; ++i) {
    if (r + i >= p.in.rows) break;
    uint8_t* const at = to + i * p.in.cols;
    if (!vectors) {
#pragma unroll
      for (int k = 0; k < Map::kCols; ++k) {
        if (c + k < p.in.cols) at[k] = q[i][k / 4] >> (k % 4 * 8);
      }
    } else if (c < p.in.cols) {
      if constexpr (Map::kCols == 8) {
        __stcs(reinterpret_cast<uint2*>(at), make_uint2(q[i][0], q[i][1]));
      } else {
        __stcs(reinterpret_cast<uint32_t*>(at), q[i][0]);
      }
    }
  }
}

// Where byte (col, row) of the transposed tile lies in shared memory. A
// thread's rows stay together (8 or 16 bytes); these pieces are permuted
// within a column so that the threads of an access, which write one piece of
// different columns and read all pieces of one, meet in no bank.
template <typename T>
__device__ __forceinline__ int SlotOf(int col, int row) {
  constexpr int kPiece = TileMap<T>::kRows;
  constexpr int kPieces = kTile / kPiece;
  const int piece = row / kPiece ^ (col / TileMap<T>::kCols) % kPieces;
  return col * kTile + piece * kPiece + row % kPiece;
}

// The 4x4 transpose of the bytes of a, b, c and d: out[k] holds byte k of each.
__device__ __forceinline__ void Transpose4(uint32_t a, uint32_t b, uint32_t c,
                                           uint32_t d, uint32_t (&out)[4]) {
  const uint32_t ab_low = __byte_perm(a, b, 0x5140);
  const uint32_t ab_high = __byte_perm(a, b, 0x7362);
  const uint32_t cd_low = __byte_perm(c, d, 0x5140);
  const uint32_t cd_high = __byte_perm(c, d, 0x7362);
  out[0] = __byte_perm(ab_low, cd_low, 0x5410);
  out[1] = __byte_perm(ab_low, cd_low, 0x7632);
  out[2] = __byte_perm(ab_high, cd_high, 0x5410);
  out[3] = __byte_perm(ab_high, cd_high, 0x7632);
}

template <typename T>
__device__ __forceinline__ void ShareTransposed(const TileBytes<T>& q,
                                                uint8_t* shared) {
  using Map = TileMap<T>;
#pragma unroll
  for (int k = 0; k < Map::kCols; k += 4) {
    uint32_t columns[Map::kRows / 4][4];
#pragma unroll
    for (int i = 0; i < Map::kRows; i += 4) {
      Transpose4(q[i][k / 4], q[i + 1][k / 4], q[i + 2][k / 4], q[i + 3][k / 4],
                 columns[i / 4]);
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      uint8_t* const at = shared + SlotOf<T>(Map::Col() + k + c, Map::Row());
      if constexpr (Map::kRows == 8) {
        *reinterpret_cast<uint2*>(at) =
            make_uint2(columns[0][c], columns[1][c]);
      } else {
        *reinterpret_cast<uint4*>(at) = make_uint4(
            columns[0][c], columns[1][c], columns[2][c], columns[3][c]);
      }
    }
  }
}

template <typename T>
__device__ __forceinline__ void StoreTransposed(const CastProblem& p,
                                                int64_t row, int64_t col,
                                                int bytes,
                                                const uint8_t* shared) {
  uint8_t* const to = p.transposed + col * p.in.rows + row;
  const int64_t rows = p.in.rows - row, cols = p.in.cols - col;
  if (bytes == 16) {
#pragma unroll
    for (int k = 0; k < kTile * kTile / 16 / kTileThreads; ++k) {
      const int i = threadIdx.x + k * kTileThreads;
      const int c = i / 8, r = i % 8 * 16;
      if (c >= cols || r >= rows) continue;
      uint4 v;
      if constexpr (TileMap<T>::kRows == 16) {
        v = *reinterpret_cast<const uint4*>(shared + SlotOf<T>(c, r));
      } else {
        // Two pieces in one 16-byte slot, in either order.
        const int slot = SlotOf<T>(c, r);
        v = *reinterpret_cast<const uint4*>(shared + slot / 16 * 16);
        if (slot % 16 != 0) v = make_uint4(v.z, v.w, v.x, v.y);
      }
      __stcs(reinterpret_cast<uint4*>(to + c * p.in.rows + r), v);
    }
    return;
  }
  const int lane = threadIdx.x % 32;
  for (int c = threadIdx.x / 32; c < kTile && c < cols; c += kTileWarps) {
    uint8_t* const column = to + c * p.in.rows;
    if (bytes == 4) {
      if (4 * lane < rows) {
        *reinterpret_cast<uint32_t*>(column + 4 * lane) =
            *reinterpret_cast<const uint32_t*>(shared + SlotOf<T>(c, 4 * lane));
      }
    } else {
      for (int r = lane; r < kTile && r < rows; r += 32) {
        column[r] = shared[SlotOf<T>(c, r)];
      }
    }
  }
}

// kAligned: all accesses are as wide as they come, and `any` is not read.
template <typename T, Fp8 kFormat, ScaleKind kKind, bool kAligned>
__device__ __forceinline__ void CastTile(const CastProblem& p,
                                         const CastAccess& any, int64_t index,
                                         CastShared& shared) {
  using Map = TileMap<T>;
  const CastAccess access = kAligned ? CastAccess{true, true, 16} : any;
  const int64_t across = TilesAlong(p.in.cols);
  const int64_t tile_row = index / across, tile_col = index % across;
  const int64_t row = tile_row * kTile, col = tile_col * kTile;
  float* const sums = reinterpret_cast<float*>(shared.bytes);
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(shared.bytes);
  uint4 v[Map::kRows];
  LoadTile<T>(static_cast<const T*>(p.in.data), p.in.rows, p.in.cols, row, col,
              access.in_vectors, v);
  if (p.column_partials != nullptr) {
    SumColumns<T>(p, v, tile_row, tile_col, sums);
  }
  TileBytes<T> q;
  if constexpr (kKind == ScaleKind::kTile) {
    const unsigned bits = NeedsTileAmax(p.scale) ? AmaxOfThread<T>(v) : 0;
    const float scale = TileScale<T, kFormat>(p.in, p.scale, tile_row, tile_col,
                                              bits, shared.amax);
    EncodeTile<T, kFormat>(
        v, [&](int, int) { return scale; }, q);
  } else if constexpr (kKind == ScaleKind::kColumn) {
    ColumnScales<T, kFormat>(p, p.scale, v, tile_row, tile_col, shared.bytes,
                             shared.scales[1]);
    __syncthreads();
    float scales[Map::kCols];
#pragma unroll
    for (int k = 0; k < Map::kCols; ++k) {
      scales[k] = shared.scales[1][Map::Col() + k];
    }
    EncodeTile<T, kFormat>(
        v, [&](int, int k) { return scales[k]; }, q);
  } else {
    RowScales<T, kFormat>(p, v, tile_row, tile_col, shared.amax[0],
                          shared.scales[0]);
    if constexpr (kKind == ScaleKind::kRowAndColumn) {
      ColumnScales<T, kFormat>(p, p.transposed_scale, v, tile_row, tile_col,
                               shared.bytes, shared.scales[1]);
    }
    __syncthreads();
    EncodeTile<T, kFormat>(
        v, [&](int i, int) { return shared.scales[0][Map::Row() + i]; }, q);
  }
  if (p.data != nullptr) StoreRows<T>(p, row, col, access.data_vectors, q);
  if (p.transposed == nullptr) return;
  if constexpr (kKind == ScaleKind::kRowAndColumn) {
    float scales[Map::kCols];
#pragma unroll
    for (int k = 0; k < Map::kCols; ++k) {
      scales[k] = shared.scales[1][Map::Col() + k];
    }
    EncodeTile<T, kFormat>(
        v, [&](int, int k) { return scales[k]; }, q);
  }
  ShareTransposed<T>(q, bytes);
  __syncthreads();
  StoreTransposed<T>(p, row, col, access.transposed_bytes, bytes);
}

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_CAST_TILE_CUH_
