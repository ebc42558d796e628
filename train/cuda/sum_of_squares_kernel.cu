// SPDX-License-Identifier: Apache-2.0

// Sums of squares in double, bound by memory: of pieces of a fixed length, then
// of the pieces, both in an order that depends on lengths alone.
#include <algorithm>

#include "float8/cuda/encode.cuh"
#include "train/cuda/pieces.cuh"
#include "train/cuda/sum_of_squares_kernel.h"

namespace octet::train::internal {
namespace {

using float8::internal::ElementType;
using float8::internal::kFullWarp;
using float8::internal::kPerVector;
using float8::internal::ToFloat;

constexpr int kThreads = 256;
constexpr int kJoinThreads = 1024;
constexpr int64_t kPiece = 1 << 15;
constexpr int kSums = 4;   // of a thread, so that additions overlap
constexpr int kAhead = 4;  // vectors being loaded

struct Entry {
  const void* data;
  int64_t n;
  uint32_t first_piece;
  ElementType type;
  bool aligned;
};
constexpr int kMaxTensors = kTableBytes / static_cast<int>(sizeof(Entry));

struct Table {
  Entry entries[kMaxTensors];
  int count;
};

__device__ __forceinline__ double BlockSum(double x, double* shared) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    x += __shfl_xor_sync(kFullWarp, x, offset);
  }
  if (lane == 0) shared[warp] = x;
  __syncthreads();
  x = lane < blockDim.x / 32 ? shared[lane] : 0.0;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    x += __shfl_xor_sync(kFullWarp, x, offset);
  }
  return x;
}

// n elements from `data`, this thread's share.
template <typename T>
__device__ double ThreadSum(const T* data, int64_t n, bool aligned) {
  constexpr int kPer = kPerVector<T>;
  double sums[kSums] = {};
  const int64_t vectors = aligned ? n / kPer : 0;
  for (int64_t first = threadIdx.x; first < vectors;
       first += kAhead * kThreads) {
    uint4 loaded[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const int64_t i = first + k * kThreads;
      loaded[k] = i < vectors ? float8::internal::LoadVector(data + i * kPer)
                              : uint4{0, 0, 0, 0};
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      float x[kPer];
      float8::internal::Unpack<T>(loaded[k], x);
#pragma unroll
      for (int j = 0; j < kPer; ++j) {
        const double v = x[j];
        sums[j % kSums] = fma(v, v, sums[j % kSums]);
      }
    }
  }
  for (int64_t i = vectors * kPer + threadIdx.x; i < n; i += kThreads) {
    const double v = ToFloat(data[i]);
    sums[0] = fma(v, v, sums[0]);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

__global__ void __launch_bounds__(kThreads)
    PiecesKernel(const __grid_constant__ Table table, double* partial) {
  __shared__ double shared[32];
  const Entry& entry =
      table.entries[FindTensor(table.entries, table.count, blockIdx.x)];
  const int64_t begin =
      static_cast<int64_t>(blockIdx.x - entry.first_piece) * kPiece;
  const int64_t n = min(kPiece, entry.n - begin);
  const double mine =
      entry.type == ElementType::kBf16
          ? ThreadSum(static_cast<const __nv_bfloat16*>(entry.data) + begin, n,
                      entry.aligned)
          : ThreadSum(static_cast<const float*>(entry.data) + begin, n,
                      entry.aligned);
  const double sum = BlockSum(mine, shared);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kJoinThreads)
    JoinKernel(const double* partial, int64_t pieces, double* out) {
  __shared__ double shared[32];
  double mine = 0.0;
#pragma unroll 8
  for (int64_t i = threadIdx.x; i < pieces; i += kJoinThreads) {
    mine += partial[i];
  }
  const double sum = BlockSum(mine, shared);
  if (threadIdx.x == 0) *out = sum;
}

}  // namespace

int64_t SumOfSquaresPieces(int64_t n) { return (n + kPiece - 1) / kPiece; }

cudaError_t LaunchSumOfSquares(const SumOfSquaresTensor* tensors, int64_t count,
                               double* partial, double* out,
                               cudaStream_t stream) {
  int64_t done = 0;
  for (int64_t at = 0; at < count;) {
    Table table;
    table.count = 0;
    int64_t pieces = 0;
    for (; at < count && table.count < kMaxTensors; ++at) {
      const SumOfSquaresTensor& t = tensors[at];
      if (t.n == 0) continue;
      table.entries[table.count++] = {t.data, t.n,
                                      static_cast<uint32_t>(pieces), t.type,
                                      IsAligned(t.data)};
      pieces += SumOfSquaresPieces(t.n);
    }
    if (pieces == 0) continue;
    PiecesKernel<<<static_cast<unsigned>(pieces), kThreads, 0, stream>>>(
        table, partial + done);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    done += pieces;
  }
  JoinKernel<<<1, kJoinThreads, 0, stream>>>(partial, done, out);
  return cudaGetLastError();
}

}  // namespace octet::train::internal
