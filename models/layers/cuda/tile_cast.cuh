// SPDX-License-Identifier: Apache-2.0

// Quantises what a producer makes, tile by tile of 128x128, from one reading of
// the producer's inputs: row-major bytes, transposed bytes or both, with a
// scale that is known or those of the tile's rows and columns.
//
// A thread makes 8x8 or 4x8 elements, rounded to bf16 and kept packed: rows are
// reduced between the 16 lanes that share them, columns in shared memory, where
// the transposed bytes also turn. Every byte is what float8's Cast makes of the
// rounded elements. For bf16, rows a multiple of 16, cols of 8.
#ifndef OCTET_MODELS_LAYERS_CUDA_TILE_CAST_CUH_
#define OCTET_MODELS_LAYERS_CUDA_TILE_CAST_CUH_

#include "models/layers/cuda/encode_vector.cuh"
#include "models/layers/cuda/tile_cast.h"
#include "models/layers/cuda/vector.cuh"

namespace octet::models::internal {

// A producer gives kOutputs matrices of one shape:
//   struct Raw;                      // what it loads for 8 elements of a row
//   static constexpr int kRows;      // of a thread: 8, or 4 in larger blocks
//   static constexpr int kBlocks;    // of a multiprocessor, at least
//   static constexpr int kBatch;     // rows whose loads are in flight together
//   void Prepare(int64_t col);       // the thread's first column, in range
//   void Load(int64_t row, int64_t offset, Raw* raw);
//   void Make(const Raw& raw, uint4 (&out)[kOutputs]);

constexpr int kTileCols = 8;  // of a thread

template <int kRows>
inline constexpr int kTileThreads = kTile / kTileCols*(kTile / kRows);

template <int kRows>
struct TileShared {
  uint32_t bytes[kTile * kTile / 4];  // transposed
  uint4 maxima[kTileThreads<kRows> / 32][16];
  float scales[kTile];
};

struct TilePlace {
  int64_t row;  // the thread's first
  int64_t col;
  int lane;   // of the 16 that share rows
  int group;  // of those that share columns
  bool active;
};

__device__ __forceinline__ uint32_t MaxPair(uint32_t a, uint32_t b) {
  return float8::internal::MaxWord<__nv_bfloat16>(a, b);
}
__device__ __forceinline__ uint4 MaxPairs(const uint4& a, const uint4& b) {
  return {MaxPair(a.x, b.x), MaxPair(a.y, b.y), MaxPair(a.z, b.z),
          MaxPair(a.w, b.w)};
}
__device__ __forceinline__ uint4 AbsPairs(const uint4& v) {
  constexpr uint32_t kMagnitude = 0x7fff7fffu;
  return {v.x & kMagnitude, v.y & kMagnitude, v.z & kMagnitude,
          v.w & kMagnitude};
}

// The thread's row that lane l of 16 gets the amax of.
template <int kRows>
__device__ __forceinline__ int RowOfLane(int lane) {
  return lane / (32 / kRows) * 2 + lane % 2;
}
template <int kRows>
__device__ __forceinline__ int LaneOfRow(int row) {
  return row / 2 * (32 / kRows) + row % 2;
}

// The bits of the amax of row RowOfLane(lane) of the thread's: pairs of rows
// share a word, and each step of the exchange halves what a lane looks after.
template <int kRows>
__device__ __forceinline__ unsigned RowMaximum(const uint4 (&y)[kRows],
                                               int lane) {
  uint32_t pair[kRows / 2];
#pragma unroll
  for (int i = 0; i < kRows / 2; ++i) {
    const uint32_t a =
        float8::internal::AbsMaxOfVector<__nv_bfloat16>(y[2 * i]);
    const uint32_t b =
        float8::internal::AbsMaxOfVector<__nv_bfloat16>(y[2 * i + 1]);
    pair[i] = MaxPair(__byte_perm(a, b, 0x5410), __byte_perm(a, b, 0x7632));
  }
  int offset = 8;
#pragma unroll
  for (int half = kRows / 4; half > 0; half /= 2, offset /= 2) {
    const bool upper = (lane & offset) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const uint32_t mine = upper ? pair[i + half] : pair[i];
      const uint32_t theirs = upper ? pair[i] : pair[i + half];
      pair[i] = MaxPair(mine, __shfl_xor_sync(kFullWarp, theirs, offset));
    }
  }
  uint32_t one = pair[0];
#pragma unroll
  for (; offset > 0; offset /= 2) {
    one = MaxPair(one, __shfl_xor_sync(kFullWarp, one, offset));
  }
  return (lane & 1) != 0 ? one & 0xffff0000u : one << 16;
}

// The scales of the thread's rows, written once a tile.
template <int kRows>
__device__ __forceinline__ void RowScales(const uint4 (&y)[kRows],
                                          const TileCastOutput& out,
                                          const TileCastShape& shape,
                                          const TilePlace& place,
                                          float (&scales)[kRows]) {
  const float scale = ScaleFromBits(out.data_format, RowMaximum(y, place.lane),
                                    out.data_power_of_two);
  const int64_t row = place.row + RowOfLane<kRows>(place.lane);
  if (LaneOfRow<kRows>(RowOfLane<kRows>(place.lane)) == place.lane &&
      row < shape.rows) {
    const int64_t blocks = (shape.cols + kTile - 1) / kTile;
    out.row_scale[row * blocks + blockIdx.x] = scale;
    out.row_reciprocal[blockIdx.x * ((shape.rows + 3) / 4 * 4) + row] =
        float8::internal::Reciprocal(scale);
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    scales[r] = __shfl_sync(kFullWarp, scale, LaneOfRow<kRows>(r), 16);
  }
}

// The scales of the thread's columns; all threads call.
template <int kRows>
__device__ __forceinline__ void ColumnScales(const uint4 (&y)[kRows],
                                             const TileCastOutput& out,
                                             const TileCastShape& shape,
                                             const TilePlace& place,
                                             TileShared<kRows>* shared,
                                             float (&scales)[kTileCols]) {
  uint4 largest = AbsPairs(y[0]);
#pragma unroll
  for (int r = 1; r < kRows; ++r) largest = MaxPairs(largest, AbsPairs(y[r]));
  largest = MaxPairs(largest, {__shfl_xor_sync(kFullWarp, largest.x, 16),
                               __shfl_xor_sync(kFullWarp, largest.y, 16),
                               __shfl_xor_sync(kFullWarp, largest.z, 16),
                               __shfl_xor_sync(kFullWarp, largest.w, 16)});
  if (threadIdx.x % 32 < 16) {
    shared->maxima[threadIdx.x / 32][place.lane] = largest;
  }
  __syncthreads();
  if (threadIdx.x < kTile) {
    const auto* halves =
        reinterpret_cast<const unsigned short*>(shared->maxima) + threadIdx.x;
    unsigned bits = 0;
#pragma unroll
    for (int w = 0; w < kTileThreads<kRows> / 32; ++w) {
      bits = max(bits, static_cast<unsigned>(halves[w * kTile]));
    }
    const float scale = ScaleFromBits(out.transposed_format, bits << 16,
                                      out.transposed_power_of_two);
    shared->scales[threadIdx.x] = scale;
    const int64_t col = int64_t{blockIdx.x} * kTile + threadIdx.x;
    if (col < shape.cols) {
      out.col_scale[blockIdx.y * shape.cols + col] = scale;
      out.col_reciprocal[blockIdx.y * ((shape.cols + 3) / 4 * 4) + col] =
          float8::internal::Reciprocal(scale);
    }
  }
  __syncthreads();
#pragma unroll
  for (int c = 0; c < kTileCols; ++c)
    scales[c] = shared->scales[place.lane * 8 + c];
}

// Four words of a row each to four words of a column each.
__device__ __forceinline__ void Turn(uint32_t a, uint32_t b, uint32_t c,
                                     uint32_t d, uint32_t (&out)[4]) {
  const uint32_t ab = __byte_perm(a, b, 0x5140);
  const uint32_t cd = __byte_perm(c, d, 0x5140);
  const uint32_t ab_high = __byte_perm(a, b, 0x7362);
  const uint32_t cd_high = __byte_perm(c, d, 0x7362);
  out[0] = __byte_perm(ab, cd, 0x5410);
  out[1] = __byte_perm(ab, cd, 0x7632);
  out[2] = __byte_perm(ab_high, cd_high, 0x5410);
  out[3] = __byte_perm(ab_high, cd_high, 0x7632);
}

// The tile's bytes, turned, to memory; all threads call, and the shared bytes
// are free again when they return. A column's four-byte groups of rows are
// permuted by its thread, so that neither side meets itself in a bank.
template <int kRows>
__device__ __forceinline__ void StoreTransposed(const uint2 (&codes)[kRows],
                                                uint8_t* transposed,
                                                const TileCastShape& shape,
                                                const TilePlace& place,
                                                TileShared<kRows>* shared) {
  constexpr int kWords = kRows / 4;  // of a column's rows
  uint32_t turned[kTileCols][kWords];
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    const uint2* rows = codes + 4 * w;
    uint32_t out[4];
    Turn(rows[0].x, rows[1].x, rows[2].x, rows[3].x, out);
#pragma unroll
    for (int c = 0; c < 4; ++c) turned[c][w] = out[c];
    Turn(rows[0].y, rows[1].y, rows[2].y, rows[3].y, out);
#pragma unroll
    for (int c = 0; c < 4; ++c) turned[4 + c][w] = out[c];
  }
#pragma unroll
  for (int c = 0; c < kTileCols; ++c) {
    uint32_t* const column =
        shared->bytes + (place.lane * kTileCols + c) * (kTile / 4);
    const int word = (place.group * kWords) ^ (place.lane * 2);
    if constexpr (kWords == 2) {
      *reinterpret_cast<uint2*>(column + word) = {turned[c][0], turned[c][1]};
    } else {
      column[word] = turned[c][0];
    }
  }
  __syncthreads();
  const auto* vectors = reinterpret_cast<const uint4*>(shared->bytes);
#pragma unroll
  for (int i = 0; i < kTile * kTile / 16 / kTileThreads<kRows>; ++i) {
    const int at = i * kTileThreads<kRows> + threadIdx.x;
    const int col = at / 8, chunk = at % 8, lane = col / 8;
    uint4 v = vectors[col * 8 + (chunk ^ lane / 2)];
    if (lane % 2 != 0) v = {v.z, v.w, v.x, v.y};
    const int64_t out_row = int64_t{blockIdx.x} * kTile + col;
    const int64_t out_col = int64_t{blockIdx.y} * kTile + chunk * 16;
    if (out_row < shape.cols && out_col < shape.rows) {
      *reinterpret_cast<uint4*>(transposed + out_row * shape.rows + out_col) =
          v;
    }
  }
  __syncthreads();
}

template <int kRows>
__device__ __forceinline__ void StoreRows(const uint2 (&codes)[kRows],
                                          uint8_t* data,
                                          const TileCastShape& shape,
                                          const TilePlace& place) {
  if (!place.active) return;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (place.row + r < shape.rows) {
      *reinterpret_cast<uint2*>(data + (place.row + r) * shape.cols +
                                place.col) = codes[r];
    }
  }
}

template <TileScaling kScaling, int kRows>
__device__ __forceinline__ void CastTile(const uint4 (&y)[kRows],
                                         const TileCastOutput& out,
                                         const TileCastShape& shape,
                                         const TilePlace& place,
                                         TileShared<kRows>* shared) {
  uint2 codes[kRows];
  if constexpr (kScaling == TileScaling::kKnown) {
    const float scale = *out.known_scale;
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
      if (out.scale != nullptr) *out.scale = scale;
      *out.reciprocal = float8::internal::Reciprocal(scale);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      codes[r] = EncodeVector(out.data_format, y[r], scale);
    }
    if (out.data != nullptr) StoreRows(codes, out.data, shape, place);
    if (out.transposed != nullptr) {
      StoreTransposed(codes, out.transposed, shape, place, shared);
    }
    return;
  }
  if (out.data != nullptr) {
    float scales[kRows];
    RowScales(y, out, shape, place, scales);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      codes[r] = EncodeVector(out.data_format, y[r], scales[r]);
    }
    StoreRows(codes, out.data, shape, place);
  }
  if (out.transposed != nullptr) {
    float scales[kTileCols];
    ColumnScales(y, out, shape, place, shared, scales);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      codes[r] = EncodeVector(out.transposed_format, y[r], scales);
    }
    StoreTransposed(codes, out.transposed, shape, place, shared);
  }
}

// The thread's elements, zeros beyond the matrix.
template <typename Producer>
__device__ __forceinline__ void MakeTile(
    Producer& producer, const TileCastShape& shape, const TilePlace& place,
    uint4 (&y)[Producer::kOutputs][Producer::kRows]) {
  if (!place.active) return;
  producer.Prepare(place.col);
#pragma unroll
  for (int first = 0; first < Producer::kRows; first += Producer::kBatch) {
    typename Producer::Raw raw[Producer::kBatch] = {};
#pragma unroll
    for (int i = 0; i < Producer::kBatch; ++i) {
      const int64_t row = place.row + first + i;
      if (row < shape.rows) {
        producer.Load(row, row * shape.cols + place.col, &raw[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < Producer::kBatch; ++i) {
      uint4 made[Producer::kOutputs];
      producer.Make(raw[i], made);
#pragma unroll
      for (int k = 0; k < Producer::kOutputs; ++k) {
        y[k][first + i] =
            place.row + first + i < shape.rows ? made[k] : uint4{};
      }
    }
  }
}

template <int kRows>
__device__ __forceinline__ void StorePlain(const uint4 (&y)[kRows], void* plain,
                                           const TileCastShape& shape,
                                           const TilePlace& place) {
  if (plain == nullptr || !place.active) return;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (place.row + r < shape.rows) {
      *reinterpret_cast<uint4*>(static_cast<__nv_bfloat16*>(plain) +
                                (place.row + r) * shape.cols + place.col) =
          y[r];
    }
  }
}

template <int kRows>
__device__ __forceinline__ unsigned AbsBitsOf(const uint4 (&y)[kRows]) {
  uint32_t pair = 0;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    pair = MaxPair(pair, float8::internal::AbsMaxOfVector<__nv_bfloat16>(y[r]));
  }
  return float8::internal::WordBits<__nv_bfloat16>(pair);
}

template <typename Producer, TileScaling kScaling>
__global__ void __launch_bounds__(kTileThreads<Producer::kRows>,
                                  Producer::kBlocks)
    TileCastKernel(Producer producer, TileCastProblem<Producer::kOutputs> p) {
  constexpr int kOutputs = Producer::kOutputs;
  constexpr int kRows = Producer::kRows;
  __shared__ __align__(16) TileShared<kRows> shared;
  TilePlace place;
  place.lane = threadIdx.x % 16;
  place.group = threadIdx.x / 16;
  place.row = int64_t{blockIdx.y} * kTile + place.group * kRows;
  place.col = int64_t{blockIdx.x} * kTile + place.lane * kTileCols;
  place.active = place.row < p.shape.rows && place.col < p.shape.cols;
  uint4 y[kOutputs][kRows] = {};
  MakeTile(producer, p.shape, place, y);
  unsigned largest[kOutputs] = {};
  float* seen[kOutputs];
  bool any_seen = false;
#pragma unroll
  for (int k = 0; k < kOutputs; ++k) {
    const TileCastOutput& out = p.out[k];
    if (kScaling == TileScaling::kKnown) largest[k] = AbsBitsOf(y[k]);
    seen[k] = out.seen_amax;
    any_seen = any_seen || out.seen_amax != nullptr;
    StorePlain(y[k], out.plain, p.shape, place);
    CastTile<kScaling>(y[k], out, p.shape, place, &shared);
  }
  if (kScaling == TileScaling::kKnown && any_seen) {
    GridMax<kOutputs>(largest, p.counters, seen);
  }
}

template <typename Producer>
cudaError_t LaunchTileCast(const Producer& producer, TileScaling scaling,
                           const TileCastProblem<Producer::kOutputs>& p,
                           cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((p.shape.cols + kTile - 1) / kTile),
                  static_cast<unsigned>((p.shape.rows + kTile - 1) / kTile));
  if (scaling == TileScaling::kKnown) {
    TileCastKernel<Producer, TileScaling::kKnown>
        <<<grid, kTileThreads<Producer::kRows>, 0, stream>>>(producer, p);
  } else {
    TileCastKernel<Producer, TileScaling::kLocal>
        <<<grid, kTileThreads<Producer::kRows>, 0, stream>>>(producer, p);
  }
  return cudaGetLastError();
}

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_TILE_CAST_CUH_
