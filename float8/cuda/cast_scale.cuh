// SPDX-License-Identifier: Apache-2.0

// Scales inside a cast kernel: from an array, an amax or the tile itself, and
// where they and their reciprocals are written.
#ifndef OCTET_FLOAT8_CUDA_CAST_SCALE_CUH_
#define OCTET_FLOAT8_CUDA_CAST_SCALE_CUH_

#include "float8/cuda/cast_kernel.h"
#include "float8/cuda/tile.cuh"

namespace octet::float8::internal {

// How wide the memory of a problem lets accesses be.
struct CastAccess {
  bool in_vectors;       // rows of `in` start at multiples of 16 bytes
  bool data_vectors;     // rows of `data` at multiples of a thread's bytes
  int transposed_bytes;  // 16, 4 or 1: of a store to `transposed`
};

template <typename T>
struct CastShared {
  uint4 bytes[kTile * kTile / 16];  // transposed; before, sums of columns
  uint4 maxima[kTileWarps * kTile * sizeof(T) / 16];  // of columns, by warp
  float scales[2][kTile];                             // of rows, of columns
  unsigned amax[kTile];                               // of rows
};

__device__ __forceinline__ bool IsClosed(const CastGate& gate) {
  return gate.history_amax != nullptr && *gate.history_amax != 0.0f &&
         isfinite(*gate.seen_amax);
}

__device__ __forceinline__ int64_t OffsetOf(const ScaleArray& a, int64_t i,
                                            int64_t j) {
  return i * a.row_stride + j * a.col_stride;
}

// To memory that the second-level cache evicts last.
__device__ __forceinline__ void StoreLasting(float* to, float value) {
  asm volatile(
      "{\n"
      "  .reg .b64 policy;\n"
      "  createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\n"
      "  st.global.L2::cache_hint.f32 [%0], %1, policy;\n"
      "}"
      :
      : "l"(to), "f"(value)
      : "memory");
}

// Whether (i, j) is the one of those that share an element which writes it.
// `lasting`: the cache is to keep it until its line is whole.
__device__ __forceinline__ void Put(const ScaleArray& a, int64_t i, int64_t j,
                                    float value, bool lasting = false) {
  if (a.data == nullptr || (a.row_stride == 0 && i != 0) ||
      (a.col_stride == 0 && j != 0)) {
    return;
  }
  float* const to = a.data + OffsetOf(a, i, j);
  if (lasting) {
    StoreLasting(to, value);
  } else {
    *to = value;
  }
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

// What an array gives for (i, j): a scale or an amax.
__device__ __forceinline__ float GivenOf(const ScaleTarget& t, int64_t i,
                                         int64_t j) {
  return t.source == ScaleSource::kScale || t.source == ScaleSource::kAmax
             ? t.from[OffsetOf(t.scale, i, j)]
             : 0.0f;
}

// The scale of (i, j), whose amax is `bits` where the source is not an array,
// or follows from what one gives; one caller of all that share it writes it.
// `lasting`: blocks apart write what lies side by side.
template <Fp8 kFormat>
__device__ __forceinline__ float Settle(const ScaleTarget& t, int64_t i,
                                        int64_t j, float given, unsigned bits,
                                        bool writes, bool lasting = false) {
  float scale;
  if (t.source == ScaleSource::kScale) {
    scale = given;
  } else {
    const float amax =
        t.source == ScaleSource::kAmax ? given : __uint_as_float(bits);
    scale = ScaleFromAmax<kFormat>(amax, t.power_of_two);
  }
  if (writes) {
    const float reciprocal = Reciprocal(scale);
    if (t.source != ScaleSource::kScale) Put(t.scale, i, j, scale, lasting);
    Put(t.reciprocal, i, j, reciprocal);
    Put(t.transposed_reciprocal, i, j, reciprocal);
  }
  return scale;
}

// The scale of a whole tile (i, j); `bits` is the thread's share of its amax.
// `shared` has 64 elements.
template <typename T, Fp8 kFormat>
__device__ __forceinline__ float TileScale(const MatrixIn& in,
                                           const ScaleTarget& t, int64_t i,
                                           int64_t j, float given,
                                           unsigned bits, unsigned* shared) {
  if (NeedsTileAmax(t)) {
    bits = BlockMax(bits, shared);
    if (t.seen_amax != nullptr && threadIdx.x == 0) PutSeenAmax(t, i, j, bits);
  }
  if (t.source == ScaleSource::kInput) {
    bits =
        BlockMax(AmaxOfSpan<T, 8>(static_cast<const T*>(in.data),
                                  in.rows * in.cols, threadIdx.x, blockDim.x),
                 shared + 32);
  }
  return Settle<kFormat>(t, i, j, given, bits, threadIdx.x == 0);
}

// The tile's row whose scale a thread settles; threads of no row: kTile.
__device__ __forceinline__ int RowOfThread() {
  const int lane = threadIdx.x % 32;
  return lane < kRowsOfWarp ? threadIdx.x / 32 * kRowsOfWarp + lane : kTile;
}

// scales[r] of the tile's rows, each for the warp that has the row: no barrier
// of the block. `given` is of RowOfThread.
template <typename T, Fp8 kFormat>
__device__ __forceinline__ void RowScales(const CastProblem& p,
                                          const uint4 (&v)[TileMap<T>::kRows],
                                          const TilePlace& place, float given,
                                          CastShared<T>& shared) {
  const ScaleTarget& t = p.scale;
  const bool needs_amax = NeedsTileAmax(t);
  if (needs_amax) {
    AmaxOfRows<T>(v, shared.amax);
    __syncwarp();
  }
  const int r = RowOfThread();
  if (r < place.rows) {
    const int64_t row = place.row * kTile + r;
    const unsigned bits = needs_amax ? shared.amax[r] : 0;
    if (t.seen_amax != nullptr) PutSeenAmax(t, row, place.col, bits);
    // By 1x128, a block has one scale of a row: each would be a write of its
    // own to memory, a tenth of the cast's time.
    shared.scales[0][r] = Settle<kFormat>(t, row, place.col, given, bits, true,
                                          t.scale.col_stride != 0);
  }
  __syncwarp();
}

// scales[c] of the tile's columns. `given` is of the thread's column.
template <typename T, Fp8 kFormat>
__device__ __forceinline__ void ColumnScales(
    const ScaleTarget& t, const uint4 (&v)[TileMap<T>::kRows],
    const TilePlace& place, float given, uint4* maxima, float* scales) {
  const bool needs_amax = NeedsTileAmax(t);
  if (needs_amax) {
    uint4 largest = make_uint4(0, 0, 0, 0);
    MaxOfColumns<T>(v, &largest);
    ShareMaxOfColumns<T>(largest, maxima);
    __syncthreads();
  }
  if (threadIdx.x < place.cols) {
    const int64_t col = place.col * kTile + threadIdx.x;
    const unsigned bits = needs_amax ? ColumnAmax<T>(maxima, threadIdx.x) : 0;
    if (t.seen_amax != nullptr) PutSeenAmax(t, place.row, col, bits);
    scales[threadIdx.x] = Settle<kFormat>(t, place.row, col, given, bits, true);
  }
}

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_CAST_SCALE_CUH_
