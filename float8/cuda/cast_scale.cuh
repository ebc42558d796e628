// SPDX-License-Identifier: Apache-2.0

// Scales inside a cast kernel: from an array, an amax or the tile itself, and
// where they and their reciprocals are written.
#ifndef OCTET_FLOAT8_CUDA_CAST_SCALE_CUH_
#define OCTET_FLOAT8_CUDA_CAST_SCALE_CUH_

#include "float8/cuda/cast_kernel.h"
#include "float8/cuda/tile.cuh"

namespace octet::float8::internal {

// Tiles that a block works on one after the other, at most.
inline constexpr int kMaxStrip = 8;

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
  float staged[kTile][kMaxStrip];  // scales of rows, until they fill a sector
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
// one caller of all that share it writes it, but not the scale if it is staged.
template <Fp8 kFormat>
__device__ __forceinline__ float Settle(const ScaleTarget& t, int64_t i,
                                        int64_t j, unsigned bits, bool writes,
                                        bool stages = false) {
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
    if (t.source != ScaleSource::kScale && !stages) Put(t.scale, i, j, scale);
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
                                          const TilePlace& place,
                                          unsigned* amax, float* scales,
                                          float (*staged)[kMaxStrip]) {
  const ScaleTarget& t = p.scale;
  const bool needs_amax = NeedsTileAmax(t);
  if (needs_amax) {
    AmaxOfRows<T>(v, amax);
    __syncthreads();
  }
  if (threadIdx.x < place.rows) {
    const int64_t row = place.row * kTile + threadIdx.x;
    const unsigned bits = needs_amax ? amax[threadIdx.x] : 0;
    if (t.seen_amax != nullptr) PutSeenAmax(t, row, place.col, bits);
    const float scale = Settle<kFormat>(t, row, place.col, bits, true,
                                        /*stages=*/p.strip > 1);
    scales[threadIdx.x] = scale;
    staged[threadIdx.x][place.col % kMaxStrip] = scale;
  }
}

// Writes what RowScales has staged of `count` tiles: a warp four rows' pieces
// of 32 bytes. (One by one, each scale of a row would be a write of its own to
// memory: as many as of bytes.)
__device__ __forceinline__ void PutStagedScales(
    const ScaleArray& scale, const TilePlace& first, int count,
    const float (*staged)[kMaxStrip]) {
  for (int i = threadIdx.x; i < kTile * kMaxStrip; i += kTileThreads) {
    const int row = i / kMaxStrip, j = i % kMaxStrip;
    const int from = static_cast<int>(first.col % kMaxStrip);
    if (row < first.rows && j >= from && j < from + count) {
      scale.data[OffsetOf(scale, first.row * kTile + row,
                          first.col + j - from)] = staged[row][j];
    }
  }
}

// scales[c] of the tile's columns; `shared` holds maxima for a while.
template <typename T, Fp8 kFormat>
__device__ __forceinline__ void ColumnScales(
    const ScaleTarget& t, const uint4 (&v)[TileMap<T>::kRows],
    const TilePlace& place, uint4* shared, float* scales) {
  const bool needs_amax = NeedsTileAmax(t);
  if (needs_amax) {
    uint4 largest = make_uint4(0, 0, 0, 0);
    MaxOfColumns<T>(v, &largest);
    ShareMaxOfColumns<T>(largest, shared);
    __syncthreads();
  }
  if (threadIdx.x < place.cols) {
    const int64_t col = place.col * kTile + threadIdx.x;
    const unsigned bits = needs_amax ? ColumnAmax<T>(shared, threadIdx.x) : 0;
    if (t.seen_amax != nullptr) PutSeenAmax(t, place.row, col, bits);
    scales[threadIdx.x] = Settle<kFormat>(t, place.row, col, bits, true);
  }
}

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_CAST_SCALE_CUH_
