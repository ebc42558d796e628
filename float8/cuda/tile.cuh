// SPDX-License-Identifier: Apache-2.0

// A 128x128 tile in the registers of a block of 256 threads, and spans of
// contiguous elements: loads and magnitudes.
//
// A thread holds whole 16-byte vectors of consecutive rows: 8 rows of 8
// columns, or 16 rows of 4 columns for f32. Elements beyond the matrix are 0,
// which no amax sees.
#ifndef OCTET_FLOAT8_CUDA_TILE_CUH_
#define OCTET_FLOAT8_CUDA_TILE_CUH_

#include "float8/cuda/encode.cuh"

namespace octet::float8::internal {

inline constexpr int kTileThreads = 256;
inline constexpr int kTileWarps = kTileThreads / 32;

__device__ __forceinline__ int64_t TilesAlong(int64_t n) {
  return (n + kTile - 1) / kTile;
}

template <typename T>
struct TileMap {
  static constexpr int kCols = kPerVector<T>;
  static constexpr int kAcross = kTile / kCols;
  static constexpr int kRows = kTile * kAcross / kTileThreads;
  __device__ static int Col() { return threadIdx.x % kAcross * kCols; }
  __device__ static int Row() { return threadIdx.x / kAcross * kRows; }
};

// What a tile's place and its matrix's memory let a block do.
enum class TileAccess : uint8_t {
  kFull,     // no edge in the tile, accesses as wide as they come
  kVectors,  // the same widths, but with an edge
  kAny,      // neither is certain
};

// A tile of a matrix: of kTile rows and columns, less at an edge.
struct TilePlace {
  int64_t row;  // tile row and column
  int64_t col;
  int rows;
  int cols;
  __device__ bool is_full() const { return rows == kTile && cols == kTile; }
};

__device__ __forceinline__ TilePlace PlaceOf(unsigned row, unsigned col,
                                             int64_t rows, int64_t cols) {
  TilePlace place;
  place.row = row;
  place.col = col;
  place.rows = static_cast<int>(
      min(static_cast<int64_t>(kTile), rows - place.row * kTile));
  place.cols = static_cast<int>(
      min(static_cast<int64_t>(kTile), cols - place.col * kTile));
  return place;
}

// `cols` are the matrix's; `vectors`, for kAny: its rows start at multiples of
// 16 bytes.
template <typename T, TileAccess kAccess>
__device__ __forceinline__ void LoadTile(const T* in, int64_t cols,
                                         const TilePlace& place, bool vectors,
                                         uint4 (&v)[TileMap<T>::kRows]) {
  using Map = TileMap<T>;
  const int row = Map::Row(), col = Map::Col();
  const T* from =
      in + (place.row * kTile + row) * cols + place.col * kTile + col;
  if constexpr (kAccess == TileAccess::kAny) {
    if (!vectors) {
#pragma unroll
      for (int i = 0; i < Map::kRows; ++i) {
        T elements[Map::kCols];
#pragma unroll
        for (int k = 0; k < Map::kCols; ++k) {
          elements[k] = col + k < place.cols && row + i < place.rows
                            ? from[i * cols + k]
                            : T(0.0f);
        }
        v[i] = *reinterpret_cast<const uint4*>(elements);
      }
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < Map::kRows; ++i) {
    const bool exists = kAccess == TileAccess::kFull ||
                        (col < place.cols && row + i < place.rows);
    v[i] = exists ? LoadVector(from + i * cols) : make_uint4(0, 0, 0, 0);
  }
}

// Starts the tile's way into shared memory, where its rows start at multiples
// of 16 bytes: kRows vectors, kTileThreads apart, at `slots`, the thread's own.
// No other thread touches them, so they need no barrier, and they are free for
// the next tile as soon as this one was taken.
template <typename T>
__device__ __forceinline__ void FetchTile(const T* in, int64_t cols,
                                          const TilePlace& place,
                                          uint4* slots) {
  using Map = TileMap<T>;
  const int row = Map::Row(), col = Map::Col();
  const T* const from =
      in + (place.row * kTile + row) * cols + place.col * kTile + col;
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(slots));
  const int rows = col < place.cols ? place.rows - row : 0;
#pragma unroll
  for (int i = 0; i < Map::kRows; ++i) {
    const bool exists = i < rows;  // else zeros, and nothing is read
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     to + i * kTileThreads * 16),
                 "l"(exists ? from + i * cols : in), "r"(exists ? 16 : 0)
                 : "memory");
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits for all that the thread has fetched.
template <typename T>
__device__ __forceinline__ void TakeTile(const uint4* slots,
                                         uint4 (&v)[TileMap<T>::kRows]) {
  asm volatile("cp.async.wait_all;" ::: "memory");
#pragma unroll
  for (int i = 0; i < TileMap<T>::kRows; ++i) v[i] = slots[i * kTileThreads];
}

// The block's share of the tile's amax: bits, to be reduced by BlockMax.
template <typename T>
__device__ __forceinline__ unsigned AmaxOfThread(
    const uint4 (&v)[TileMap<T>::kRows]) {
  uint32_t largest = 0;
#pragma unroll
  for (int i = 0; i < TileMap<T>::kRows; ++i) {
    largest = MaxWord<T>(largest, AbsMaxOfVector<T>(v[i]));
  }
  return WordBits<T>(largest);
}

// Of the tile's rows, which a warp has whole.
inline constexpr int kRowsOfWarp = kTile / kTileWarps;

// amax[r] of each of the tile's rows, as bits, in shared memory; the caller
// synchronises: the warp where it reads its own kRowsOfWarp alone.
template <typename T>
__device__ __forceinline__ void AmaxOfRows(const uint4 (&v)[TileMap<T>::kRows],
                                           unsigned* amax) {
  using Map = TileMap<T>;
  if constexpr (sizeof(T) == 4) {
#pragma unroll
    for (int i = 0; i < Map::kRows; ++i) {
      const unsigned bits = WarpMax(AbsMaxOfVector<T>(v[i]));
      if (threadIdx.x % Map::kAcross == 0) amax[Map::Row() + i] = bits;
    }
  } else {
    // Two rows share a word. Lanes that exchange words keep half of them each,
    // until each has one, of rows 2 * pair and 2 * pair + 1.
    static_assert(Map::kRows == 8 && Map::kAcross == 16, "four pairs");
    uint32_t pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t a = AbsMaxOfVector<T>(v[2 * i]);
      const uint32_t b = AbsMaxOfVector<T>(v[2 * i + 1]);
      pairs[i] = __vmaxu2(__byte_perm(a, b, 0x5410), __byte_perm(a, b, 0x7632));
    }
    const int lane = threadIdx.x % 16;
    const auto fold = [](bool upper, int step, uint32_t low, uint32_t high) {
      const uint32_t other =
          __shfl_xor_sync(kFullWarp, upper ? low : high, step);
      return __vmaxu2(upper ? high : low, other);
    };
    const bool by_8 = (lane & 8) != 0, by_4 = (lane & 4) != 0;
    uint32_t both = fold(by_4, 4, fold(by_8, 8, pairs[0], pairs[2]),
                         fold(by_8, 8, pairs[1], pairs[3]));
    both = __vmaxu2(both, __shfl_xor_sync(kFullWarp, both, 2));
    both = __vmaxu2(both, __shfl_xor_sync(kFullWarp, both, 1));
    const int row = lane / 4 * 2 + lane % 2;
    if ((lane & 2) == 0) amax[Map::Row() + row] = LaneBits<T>(both, lane % 2);
  }
}

// A thread's maxima of its columns, in T's own bits.
template <typename T>
__device__ __forceinline__ void MaxOfColumns(
    const uint4 (&v)[TileMap<T>::kRows], uint4* largest) {
#pragma unroll
  for (int i = 0; i < TileMap<T>::kRows; ++i) {
    largest->x = MaxWord<T>(largest->x, AbsWord<T>(v[i].x));
    largest->y = MaxWord<T>(largest->y, AbsWord<T>(v[i].y));
    largest->z = MaxWord<T>(largest->z, AbsWord<T>(v[i].z));
    largest->w = MaxWord<T>(largest->w, AbsWord<T>(v[i].w));
  }
}

// Puts each warp's maxima of columns into shared memory: kTileWarps rows of
// kTile elements of T. After a barrier ColumnAmax gives a column's.
template <typename T>
__device__ __forceinline__ void ShareMaxOfColumns(uint4 largest,
                                                  uint4* shared) {
  using Map = TileMap<T>;
  if constexpr (Map::kAcross == 16) {  // two threads of a warp hold a column
    const auto fold = [](uint32_t word) {
      return MaxWord<T>(word, __shfl_xor_sync(kFullWarp, word, 16));
    };
    largest = make_uint4(fold(largest.x), fold(largest.y), fold(largest.z),
                         fold(largest.w));
  }
  if (threadIdx.x % 32 < Map::kAcross) {
    shared[threadIdx.x / 32 * Map::kAcross + threadIdx.x % 32] = largest;
  }
}
template <typename T>
__device__ __forceinline__ unsigned ColumnAmax(const uint4* shared, int col) {
  const T* elements = reinterpret_cast<const T*>(shared);
  unsigned bits = 0;
#pragma unroll
  for (int warp = 0; warp < kTileWarps; ++warp) {
    bits = max(bits, AbsBits(ToFloat(elements[warp * kTile + col])));
  }
  return bits;
}

// A thread's share of the amax of `n` elements at any address: vectors first,
// first + stride, ...; reduce the bits over the threads that share the span.
template <typename T, int kUnroll>
__device__ __forceinline__ unsigned AmaxOfSpan(const T* data, int64_t n,
                                               int64_t first, int64_t stride) {
  constexpr int kPer = kPerVector<T>;
  const int64_t to_aligned =
      (16 - reinterpret_cast<uintptr_t>(data) % 16) % 16 / sizeof(T);
  const int64_t head = min(n, to_aligned);
  const int64_t vectors = (n - head) / kPer;
  const T* aligned = data + head;
  uint32_t largest = 0;
  int64_t i = first;
  for (; i + (kUnroll - 1) * stride < vectors; i += kUnroll * stride) {
    uint4 v[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      v[k] = LoadVector(aligned + (i + k * stride) * kPer);
    }
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      largest = MaxWord<T>(largest, AbsMaxOfVector<T>(v[k]));
    }
  }
  for (; i < vectors; i += stride) {
    largest =
        MaxWord<T>(largest, AbsMaxOfVector<T>(LoadVector(aligned + i * kPer)));
  }
  unsigned bits = WordBits<T>(largest);
  for (i = first; i < head; i += stride) {
    bits = max(bits, AbsBits(ToFloat(data[i])));
  }
  for (i = head + vectors * kPer + first; i < n; i += stride) {
    bits = max(bits, AbsBits(ToFloat(data[i])));
  }
  return bits;
}

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_TILE_CUH_
