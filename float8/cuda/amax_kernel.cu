// SPDX-License-Identifier: Apache-2.0

// Amax on the GPU: every tile's partial results meet in an atomic maximum.
//
// |x| is compared as its bits: for non-negative floats the order of the
// integers is that of the values, and every NaN is above infinity, so no NaN is
// lost and the result does not depend on the order of the atomics. `out` is
// zeroed first and then only raised.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "float8/cuda/amax_kernel.h"

namespace octet::float8::internal {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kFullWarp = 0xffffffffu;
// Elements of a row that one warp reduces, at most; a thread's share of a
// column.
constexpr int64_t kRowChunk = 4096;
constexpr int64_t kColumnChunk = 128;
// 16-byte loads.
constexpr int kVectorBytes = 16;

__device__ unsigned AbsBits(float x) {
  return __float_as_uint(x) & 0x7fffffffu;
}
__device__ unsigned AbsBits(__nv_bfloat16 x) {
  return AbsBits(__bfloat162float(x));
}
__device__ unsigned AbsBits(__half x) { return AbsBits(__half2float(x)); }

template <typename T>
__device__ unsigned AbsBitsOfVector(const uint4& vector) {
  const T* elements = reinterpret_cast<const T*>(&vector);
  unsigned amax = 0;
#pragma unroll
  for (int i = 0; i < kVectorBytes / static_cast<int>(sizeof(T)); ++i) {
    amax = max(amax, AbsBits(elements[i]));
  }
  return amax;
}

// One warp for `chunk` elements of one row; a chunk never leaves its tile.
template <typename T>
__global__ void AmaxAlongRowsKernel(AmaxProblem p, int64_t chunk) {
  constexpr int kPerVector = kVectorBytes / sizeof(T);
  const int lane = threadIdx.x % 32;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (blockDim.x / 32);
  const int64_t chunks_per_tile = (p.tile_cols + chunk - 1) / chunk;
  const int64_t col_tiles = (p.cols + p.tile_cols - 1) / p.tile_cols;
  const int64_t chunks_per_row = col_tiles * chunks_per_tile;
  const int64_t first =
      static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  for (int64_t w = first; w < p.rows * chunks_per_row; w += warps) {
    const int64_t row = w / chunks_per_row;
    const int64_t tile = w % chunks_per_row / chunks_per_tile;
    const int64_t begin = tile * p.tile_cols + w % chunks_per_tile * chunk;
    const int64_t tile_end = min(p.cols, (tile + 1) * p.tile_cols);
    const int64_t end = min(tile_end, begin + chunk);
    const T* data = static_cast<const T*>(p.in) + row * p.cols;
    unsigned amax = 0;
    int64_t c = begin;
    if (reinterpret_cast<uintptr_t>(data + begin) % kVectorBytes == 0) {
      const int64_t vectors = max(end - begin, int64_t{0}) / kPerVector;
      const uint4* v = reinterpret_cast<const uint4*>(data + begin);
      for (int64_t i = lane; i < vectors; i += 32) {
        amax = max(amax, AbsBitsOfVector<T>(v[i]));
      }
      c += vectors * kPerVector;
    }
    for (int64_t i = c + lane; i < end; i += 32) {
      amax = max(amax, AbsBits(data[i]));
    }
    amax = __reduce_max_sync(kFullWarp, amax);
    if (lane == 0 && amax != 0) {
      atomicMax(reinterpret_cast<unsigned*>(p.out) +
                    row / p.tile_rows * col_tiles + tile,
                amax);
    }
  }
}

// One thread for `chunk` elements of one column; for tiles one column wide.
template <typename T>
__global__ void AmaxAlongColumnsKernel(AmaxProblem p, int64_t chunk) {
  const int64_t chunks_per_tile = (p.tile_rows + chunk - 1) / chunk;
  const int64_t row_tiles = (p.rows + p.tile_rows - 1) / p.tile_rows;
  const int64_t work = row_tiles * chunks_per_tile * p.cols;
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < work; i += threads) {
    const int64_t col = i % p.cols;
    const int64_t part = i / p.cols;
    const int64_t tile = part / chunks_per_tile;
    const int64_t begin = tile * p.tile_rows + part % chunks_per_tile * chunk;
    const int64_t end =
        min(min(p.rows, (tile + 1) * p.tile_rows), begin + chunk);
    const T* data = static_cast<const T*>(p.in) + col;
    unsigned amax = 0;
    for (int64_t r = begin; r < end; ++r) {
      amax = max(amax, AbsBits(data[r * p.cols]));
    }
    if (amax != 0) {
      atomicMax(reinterpret_cast<unsigned*>(p.out) + tile * p.cols + col, amax);
    }
  }
}

int Blocks(int64_t work_items, int per_block) {
  constexpr int64_t kMaxBlocks =
      132 * 32;  // several waves of an H200's 132 SMs
  return static_cast<int>(
      std::min((work_items + per_block - 1) / per_block, kMaxBlocks));
}

template <typename T>
cudaError_t Launch(AmaxProblem p, cudaStream_t stream) {
  if (p.tile_cols == 1 && p.tile_rows > 1) {
    const int64_t chunk = std::min(p.tile_rows, kColumnChunk);
    const int64_t parts = (p.rows + p.tile_rows - 1) / p.tile_rows *
                          ((p.tile_rows + chunk - 1) / chunk);
    AmaxAlongColumnsKernel<T>
        <<<Blocks(parts * p.cols, kThreads), kThreads, 0, stream>>>(p, chunk);
    return cudaGetLastError();
  }
  if (p.tile_rows == p.rows && p.tile_cols == p.cols) {
    // One tile: its rows are contiguous, so read them as one.
    p.cols *= p.rows;
    p.tile_cols = p.cols;
    p.rows = p.tile_rows = 1;
  }
  const int64_t chunk = std::min(p.tile_cols, kRowChunk);
  const int64_t parts = p.rows * ((p.cols + p.tile_cols - 1) / p.tile_cols) *
                        ((p.tile_cols + chunk - 1) / chunk);
  AmaxAlongRowsKernel<T>
      <<<Blocks(parts, kThreads / 32), kThreads, 0, stream>>>(p, chunk);
  return cudaGetLastError();
}

}  // namespace

cudaError_t LaunchAmax(const AmaxProblem& p, cudaStream_t stream) {
  const cudaError_t error =
      cudaMemsetAsync(p.out, 0, p.tiles * sizeof(float), stream);
  if (error != cudaSuccess || p.rows == 0 || p.cols == 0) return error;
  switch (p.input) {
    case AmaxInput::kF32:
      return Launch<float>(p, stream);
    case AmaxInput::kBf16:
      return Launch<__nv_bfloat16>(p, stream);
    case AmaxInput::kF16:
      return Launch<__half>(p, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace octet::float8::internal
