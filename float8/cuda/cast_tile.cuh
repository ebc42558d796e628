// SPDX-License-Identifier: Apache-2.0

// One 128x128 tile quantised by a block of 256 threads, from one read: amax,
// scales, row-major bytes, and through shared memory the transposed ones in
// whole 128-byte rows.
#ifndef OCTET_FLOAT8_CUDA_CAST_TILE_CUH_
#define OCTET_FLOAT8_CUDA_CAST_TILE_CUH_

#include "float8/cuda/cast_scale.cuh"

namespace octet::float8::internal {

// Sums of the tile's columns, always in the same order.
template <typename T>
__device__ __forceinline__ void SumColumns(const CastProblem& p,
                                           const uint4 (&v)[TileMap<T>::kRows],
                                           const TilePlace& place,
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
  if (threadIdx.x < place.cols) {
    float sum = 0.0f;
#pragma unroll
    for (int warp = 0; warp < kTileWarps; ++warp) {
      sum += shared[warp * kTile + threadIdx.x];
    }
    p.column_partials[place.row * p.in.cols + place.col * kTile + threadIdx.x] =
        sum;
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

template <typename T, Fp8 kFormat>
__device__ __forceinline__ void EncodeByColumn(
    const uint4 (&v)[TileMap<T>::kRows], const float* of_columns,
    TileBytes<T>& q) {
  float scales[TileMap<T>::kCols];
#pragma unroll
  for (int k = 0; k < TileMap<T>::kCols; ++k) {
    scales[k] = of_columns[TileMap<T>::Col() + k];
  }
  EncodeTile<T, kFormat>(
      v, [&](int, int k) { return scales[k]; }, q);
}

template <typename T, TileAccess kAccess>
__device__ __forceinline__ void StoreRows(const CastProblem& p,
                                          const TilePlace& place, bool vectors,
                                          const TileBytes<T>& q) {
  using Map = TileMap<T>;
  const int row = Map::Row(), col = Map::Col();
  uint8_t* const to =
      p.data + (place.row * kTile + row) * p.in.cols + place.col * kTile + col;
#pragma unroll
  for (int i = 0; i < Map::kRows; ++i) {
    if (kAccess != TileAccess::kFull && row + i >= place.rows) break;
    uint8_t* const at = to + i * p.in.cols;
    if (kAccess == TileAccess::kAny && !vectors) {
#pragma unroll
      for (int k = 0; k < Map::kCols; ++k) {
        if (col + k < place.cols) at[k] = q[i][k / 4] >> (k % 4 * 8);
      }
    } else if (kAccess == TileAccess::kFull || col < place.cols) {
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

template <typename T, TileAccess kAccess>
__device__ __forceinline__ void StoreTransposed(const CastProblem& p,
                                                const TilePlace& place,
                                                int bytes,
                                                const uint8_t* shared) {
  uint8_t* const to =
      p.transposed + place.col * kTile * p.in.rows + place.row * kTile;
  if (kAccess != TileAccess::kAny || bytes == 16) {
    constexpr int kStep = kTileThreads / 8;
    const int c = threadIdx.x / 8, r = threadIdx.x % 8 * 16;
    uint8_t* const at = to + c * p.in.rows + r;
#pragma unroll
    for (int k = 0; k < kTile; k += kStep) {
      if (kAccess != TileAccess::kFull &&
          (c + k >= place.cols || r >= place.rows)) {
        continue;
      }
      uint4 v;
      if constexpr (TileMap<T>::kRows == 16) {
        v = *reinterpret_cast<const uint4*>(shared + SlotOf<T>(c + k, r));
      } else {
        // Two pieces in one 16-byte slot, in either order.
        const int slot = SlotOf<T>(c + k, r);
        v = *reinterpret_cast<const uint4*>(shared + slot / 16 * 16);
        if (slot % 16 != 0) v = make_uint4(v.z, v.w, v.x, v.y);
      }
      __stcs(reinterpret_cast<uint4*>(at + k * p.in.rows), v);
    }
    return;
  }
  const int lane = threadIdx.x % 32;
  for (int c = threadIdx.x / 32; c < place.cols; c += kTileWarps) {
    uint8_t* const column = to + c * p.in.rows;
    if (bytes == 4) {
      if (4 * lane < place.rows) {
        *reinterpret_cast<uint32_t*>(column + 4 * lane) =
            *reinterpret_cast<const uint32_t*>(shared + SlotOf<T>(c, 4 * lane));
      }
    } else {
      for (int r = lane; r < place.rows; r += 32) {
        column[r] = shared[SlotOf<T>(c, r)];
      }
    }
  }
}

template <typename T, Fp8 kFormat, ScaleKind kKind, TileAccess kAccess>
__device__ __forceinline__ void CastPlace(const CastProblem& p,
                                          const CastAccess& access,
                                          const TilePlace& place,
                                          CastShared& shared) {
  using Map = TileMap<T>;
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(shared.bytes);
  uint4 v[Map::kRows];
  LoadTile<T, kAccess>(static_cast<const T*>(p.in.data), p.in.cols, place,
                       access.in_vectors, v);
  if (p.column_partials != nullptr) {
    SumColumns<T>(p, v, place, reinterpret_cast<float*>(shared.bytes));
  }
  TileBytes<T> q;
  if constexpr (kKind == ScaleKind::kTile) {
    const unsigned bits = NeedsTileAmax(p.scale) ? AmaxOfThread<T>(v) : 0;
    const float scale = TileScale<T, kFormat>(p.in, p.scale, place.row,
                                              place.col, bits, shared.amax);
    EncodeTile<T, kFormat>(
        v, [&](int, int) { return scale; }, q);
  } else if constexpr (kKind == ScaleKind::kColumn) {
    ColumnScales<T, kFormat>(p.scale, v, place, shared.bytes, shared.scales[1]);
    __syncthreads();
    EncodeByColumn<T, kFormat>(v, shared.scales[1], q);
  } else {
    RowScales<T, kFormat>(p, v, place, shared.amax[0], shared.scales[0],
                          shared.staged);
    if constexpr (kKind == ScaleKind::kRowAndColumn) {
      ColumnScales<T, kFormat>(p.transposed_scale, v, place, shared.bytes,
                               shared.scales[1]);
    }
    __syncthreads();
    EncodeTile<T, kFormat>(
        v, [&](int i, int) { return shared.scales[0][Map::Row() + i]; }, q);
  }
  if (p.data != nullptr) {
    StoreRows<T, kAccess>(p, place, access.data_vectors, q);
  }
  if (p.transposed == nullptr) return;
  if constexpr (kKind == ScaleKind::kRowAndColumn) {
    EncodeByColumn<T, kFormat>(v, shared.scales[1], q);
  }
  ShareTransposed<T>(q, bytes);
  __syncthreads();
  StoreTransposed<T, kAccess>(p, place, access.transposed_bytes, bytes);
}

// p.strip tiles of a row of tiles. kAligned: all accesses may be as wide as
// they come, and `access` is not read.
template <typename T, Fp8 kFormat, ScaleKind kKind, bool kAligned>
__device__ __forceinline__ void CastStrip(const CastProblem& p,
                                          const CastAccess& access,
                                          unsigned index, CastShared& shared) {
  constexpr bool kByRow =
      kKind == ScaleKind::kRow || kKind == ScaleKind::kRowAndColumn;
  const auto across = static_cast<unsigned>(TilesAlong(p.in.cols));
  const unsigned strip = kByRow ? p.strip : 1;
  const unsigned strips = (across + strip - 1) / strip;
  const unsigned row = index / strips;
  const unsigned first = (index - row * strips) * strip;
  const unsigned end = min(across, first + strip);
  for (unsigned col = first; col < end; ++col) {
    // Shared memory of the tile before is still being read.
    if (col > first) __syncthreads();
    const TilePlace place = PlaceOf(row, col, p.in.rows, p.in.cols);
    if constexpr (!kAligned) {
      CastPlace<T, kFormat, kKind, TileAccess::kAny>(p, access, place, shared);
    } else if (place.is_full()) {
      CastPlace<T, kFormat, kKind, TileAccess::kFull>(p, access, place, shared);
    } else {
      CastPlace<T, kFormat, kKind, TileAccess::kVectors>(p, access, place,
                                                         shared);
    }
  }
  if (kByRow && strip > 1 && p.scale.scale.data != nullptr) {
    __syncthreads();
    PutStagedScales(p.scale.scale, PlaceOf(row, first, p.in.rows, p.in.cols),
                    end - first, shared.staged);
  }
}

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_CAST_TILE_CUH_
