// SPDX-License-Identifier: Apache-2.0

// 128x128 tiles quantised by blocks of 256 threads, from one read: amax,
// scales, row-major bytes, and through shared memory the transposed ones in
// whole 128-byte rows. A block takes one tile after the other, and the next one
// is on its way while it works.
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

template <typename T, Fp8 kFormat>
__device__ __forceinline__ void EncodeByRow(const uint4 (&v)[TileMap<T>::kRows],
                                            const float* of_rows,
                                            TileBytes<T>& q) {
  float scales[TileMap<T>::kRows];
#pragma unroll
  for (int i = 0; i < TileMap<T>::kRows; i += 4) {
    *reinterpret_cast<float4*>(scales + i) =
        *reinterpret_cast<const float4*>(of_rows + TileMap<T>::Row() + i);
  }
  EncodeTile<T, kFormat>(
      v, [&](int i, int) { return scales[i]; }, q);
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
        *reinterpret_cast<uint2*>(at) = make_uint2(q[i][0], q[i][1]);
      } else {
        *reinterpret_cast<uint32_t*>(at) = q[i][0];
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
      *reinterpret_cast<uint4*>(at + k * p.in.rows) = v;
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

// What arrays give for a tile: of the whole tile, or of the row and the column
// whose scale the thread settles.
struct TileGiven {
  float row;
  float col;
};

template <ScaleKind kKind>
__device__ __forceinline__ TileGiven GivenOf(const CastProblem& p,
                                             const TilePlace& place) {
  TileGiven given = {0.0f, 0.0f};
  const int r = RowOfThread(), c = threadIdx.x;
  if constexpr (kKind == ScaleKind::kTile) {
    given.row = GivenOf(p.scale, place.row, place.col);
  } else if constexpr (kKind == ScaleKind::kColumn) {
    if (c < place.cols) {
      given.col = GivenOf(p.scale, place.row, place.col * kTile + c);
    }
  } else {
    if (r < place.rows) {
      given.row = GivenOf(p.scale, place.row * kTile + r, place.col);
    }
    if (kKind == ScaleKind::kRowAndColumn && c < place.cols) {
      given.col = GivenOf(p.transposed_scale, place.row, place.col * kTile + c);
    }
  }
  return given;
}

// One tile, in the block's registers.
template <typename T, Fp8 kFormat, ScaleKind kKind, TileAccess kAccess>
__device__ __forceinline__ void CastPlace(const CastProblem& p,
                                          const CastAccess& access,
                                          const TilePlace& place,
                                          const uint4 (&v)[TileMap<T>::kRows],
                                          const TileGiven& given,
                                          CastShared<T>& shared) {
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(shared.bytes);
  if (p.column_partials != nullptr) {
    SumColumns<T>(p, v, place, reinterpret_cast<float*>(shared.bytes));
  }
  TileBytes<T> q;
  if constexpr (kKind == ScaleKind::kTile) {
    const unsigned bits = NeedsTileAmax(p.scale) ? AmaxOfThread<T>(v) : 0;
    const float scale = TileScale<T, kFormat>(
        p.in, p.scale, place.row, place.col, given.row, bits, shared.amax);
    EncodeTile<T, kFormat>(
        v, [&](int, int) { return scale; }, q);
  } else if constexpr (kKind == ScaleKind::kColumn) {
    ColumnScales<T, kFormat>(p.scale, v, place, given.col, shared.maxima,
                             shared.scales[1]);
    __syncthreads();
    EncodeByColumn<T, kFormat>(v, shared.scales[1], q);
  } else {
    RowScales<T, kFormat>(p, v, place, given.row, shared);
    EncodeByRow<T, kFormat>(v, shared.scales[0], q);
  }
  if (p.data != nullptr) {
    StoreRows<T, kAccess>(p, place, access.data_vectors, q);
  }
  if (p.transposed == nullptr) return;
  if constexpr (kKind == ScaleKind::kRowAndColumn) {
    ColumnScales<T, kFormat>(p.transposed_scale, v, place, given.col,
                             shared.maxima, shared.scales[1]);
    __syncthreads();
    EncodeByColumn<T, kFormat>(v, shared.scales[1], q);
  }
  ShareTransposed<T>(q, bytes);
  __syncthreads();
  StoreTransposed<T, kAccess>(p, place, access.transposed_bytes, bytes);
}

// The tile of block `block` of `blocks`: blocks that run at once write whole
// rows, of the transposed matrix if only that is written.
__device__ __forceinline__ TilePlace PlaceOfBlock(const CastProblem& p,
                                                  unsigned block,
                                                  unsigned blocks) {
  if (p.reversed) block = blocks - 1 - block;
  const bool down = p.data == nullptr;
  const auto along =
      static_cast<unsigned>(TilesAlong(down ? p.in.rows : p.in.cols));
  const unsigned first = block / along, second = block - first * along;
  return PlaceOf(down ? second : first, down ? first : second, p.in.rows,
                 p.in.cols);
}

// Blocks on a multiprocessor: 96 KB or more on their way to them, and registers
// enough for each. Four of 16-bit elements are slower: they meet more often.
template <typename T>
inline constexpr int kCastBlocksPerSm = sizeof(T) == 4 ? 2 : 3;

// The tile of block `block` of `blocks`. kAligned: all accesses may be as wide
// as they come, `access` is not read, and `slots` has room for a tile of `in`:
// it comes to registers by shared memory, which loads faster than they do.
template <typename T, Fp8 kFormat, ScaleKind kKind, bool kAligned>
__device__ __forceinline__ void CastBlock(const CastProblem& p,
                                          const CastAccess& access,
                                          unsigned block, unsigned blocks,
                                          uint4* slots, CastShared<T>& shared) {
  const T* const in = static_cast<const T*>(p.in.data);
  const TilePlace place = PlaceOfBlock(p, block, blocks);
  uint4 v[TileMap<T>::kRows];
  if constexpr (kAligned) {
    FetchTile<T>(in, p.in.cols, place, slots + threadIdx.x);
  } else {
    LoadTile<T, TileAccess::kAny>(in, p.in.cols, place, access.in_vectors, v);
  }
  const TileGiven given = GivenOf<kKind>(p, place);
  if constexpr (kAligned) TakeTile<T>(slots + threadIdx.x, v);
  if constexpr (!kAligned) {
    CastPlace<T, kFormat, kKind, TileAccess::kAny>(p, access, place, v, given,
                                                   shared);
  } else if (place.is_full()) {
    CastPlace<T, kFormat, kKind, TileAccess::kFull>(p, access, place, v, given,
                                                    shared);
  } else {
    CastPlace<T, kFormat, kKind, TileAccess::kVectors>(p, access, place, v,
                                                       given, shared);
  }
}

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_CAST_TILE_CUH_
