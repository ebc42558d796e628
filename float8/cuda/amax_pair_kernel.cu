// SPDX-License-Identifier: Apache-2.0

// The amax of every row and of every column from one read. Outputs are
// overwritten.
#include <algorithm>

#include "float8/cuda/amax_kernel.h"
#include "float8/cuda/dispatch.cuh"
#include "float8/cuda/tile.cuh"

namespace octet::float8::internal {
namespace {

// One block on each multiprocessor, so that few maxima of a column are left,
// and loads of two turns (128 KB) in flight.
constexpr int kMaxThreads = 1024;
constexpr int kMaxRowGroups = 15;  // barriers of their own
constexpr int kVectors = 4;        // of a row in a thread
constexpr int kStages = 3;

template <typename T>
__device__ __forceinline__ void RaiseWords(const uint4& v, uint4* largest) {
  largest->x = MaxWord<T>(largest->x, AbsWord<T>(v.x));
  largest->y = MaxWord<T>(largest->y, AbsWord<T>(v.y));
  largest->z = MaxWord<T>(largest->z, AbsWord<T>(v.z));
  largest->w = MaxWord<T>(largest->w, AbsWord<T>(v.w));
}

// 16 bytes to shared memory, in the background; zeros where none exist.
__device__ __forceinline__ void CopyAsync(uint4* to, const void* from,
                                          bool exists) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address),
               "l"(from), "r"(exists ? 16 : 0)
               : "memory");
}

// A block walks down its rows, block.y at a time, and keeps the maxima of its
// columns in registers. Rows are fetched kStages - 1 turns ahead into slots
// that only the thread which fetched them reads. partial is [blocks, cols].
template <typename T>
__global__ __launch_bounds__(kMaxThreads) void AmaxOfRowsAndColumnsKernel(
    const T* in, int64_t rows, int64_t cols, int64_t rows_per_block,
    float* row_amax, float* partial) {
  constexpr int kPer = kPerVector<T>;
  extern __shared__ uint4 slots[];  // [stage][vector][thread]
  __shared__ unsigned of_warps[kMaxRowGroups][2][32];
  AwaitPredecessor();
  const int threads = blockDim.x * blockDim.y;
  const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
  uint4* const own = slots + threadIdx.y * blockDim.x + threadIdx.x;
  const int64_t begin = blockIdx.x * rows_per_block;
  const int64_t end = min(rows, begin + rows_per_block);
  const auto fetch = [&](int64_t row, int stage) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      const int at = (threadIdx.x + k * blockDim.x) * kPer;
      const bool exists = row < end && at < cols;
      CopyAsync(own + (stage * kVectors + k) * threads,
                exists ? in + row * cols + at : in, exists);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  uint4 largest[kVectors] = {};
  int64_t row = begin + threadIdx.y;
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    fetch(row + stage * static_cast<int>(blockDim.y), stage);
  }
  int stage = 0;
  for (int turn = 0; row < end; row += blockDim.y, turn ^= 1) {
    fetch(row + (kStages - 1) * static_cast<int>(blockDim.y),
          stage == 0 ? kStages - 1 : stage - 1);
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 1) : "memory");
    uint32_t most = 0;
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      const uint4 v = own[(stage * kVectors + k) * threads];
      RaiseWords<T>(v, &largest[k]);
      most = MaxWord<T>(most, AbsMaxOfVector<T>(v));
    }
    stage = stage + 1 == kStages ? 0 : stage + 1;
    // A barrier of the row's warps alone, so that the rows of a block do not
    // wait for each other; two buffers by turns, so that one a row is enough.
    unsigned* const of_row = of_warps[threadIdx.y][turn];
    const unsigned bits = WarpMax(WordBits<T>(most));
    if (lane == 0) of_row[threadIdx.x / 32] = bits;
    asm volatile("bar.sync %0, %1;" ::"r"(threadIdx.y + 1), "r"(blockDim.x)
                 : "memory");
    if (threadIdx.x / 32 == 0) {
      const unsigned all = WarpMax(lane < warps ? of_row[lane] : 0u);
      if (lane == 0) row_amax[row] = __uint_as_float(all);
    }
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  // The groups meet in the slots of the first stage, which all are done with.
#pragma unroll
  for (int k = 0; k < kVectors; ++k) own[k * threads] = largest[k];
  __syncthreads();
  const int vectors = kVectors * blockDim.x;
  for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < vectors;
       i += threads) {
    if (i * kPer >= cols) break;
    const uint4* const slot = slots + i / blockDim.x * threads + i % blockDim.x;
    uint4 most = slot[0];
    for (int group = 1; group < blockDim.y; ++group) {
      RaiseWords<T>(slot[group * blockDim.x], &most);
    }
    float x[kPer];
    Unpack<T>(most, x);
    float* const to = partial + blockIdx.x * cols + i * kPer;
#pragma unroll
    for (int k = 0; k < kPer; k += 4) {
      *reinterpret_cast<float4*>(to + k) =
          make_float4(x[k], x[k + 1], x[k + 2], x[k + 3]);
    }
  }
}

int64_t ThreadsOfRow(const MatrixIn& in) {
  const int64_t vectors = CeilDiv(in.cols * SizeOfElement(in.type), 16);
  return CeilDiv(CeilDiv(vectors, kVectors), 32) * 32;
}

}  // namespace

bool AmaxOfRowsAndColumnsFits(const MatrixIn& in) {
  return RowsAreAligned(in) && ThreadsOfRow(in) <= kMaxThreads;
}

AmaxLaunch AmaxOfRowsAndColumnsLaunch(const MatrixIn& in, int device) {
  AmaxLaunch launch;
  launch.threads_x = static_cast<int>(ThreadsOfRow(in));
  launch.threads_y = std::min(kMaxThreads / launch.threads_x, kMaxRowGroups);
  const int64_t rows = std::max<int64_t>(
      launch.threads_y, CeilDiv(in.rows, MultiprocessorsOf(device)));
  launch.blocks = launch.splits = CeilDiv(in.rows, rows);
  return launch;
}

cudaError_t LaunchAmaxOfRowsAndColumns(const MatrixIn& in, float* row_amax,
                                       float* column_amax, float* partial,
                                       int device, cudaStream_t stream) {
  const AmaxLaunch launch = AmaxOfRowsAndColumnsLaunch(in, device);
  const int64_t rows_per_block = CeilDiv(in.rows, launch.blocks);
  const int bytes = kStages * kVectors * launch.threads_x * launch.threads_y *
                    static_cast<int>(sizeof(uint4));
  const cudaError_t error = ForType(in.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = &AmaxOfRowsAndColumnsKernel<T>;
    const cudaError_t allowed = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (allowed != cudaSuccess) return allowed;
    return LaunchDependent(kernel, launch.blocks,
                           dim3(launch.threads_x, launch.threads_y), bytes,
                           stream, static_cast<const T*>(in.data), in.rows,
                           in.cols, rows_per_block, row_amax, partial);
  });
  if (error != cudaSuccess) return error;
  return LaunchReduceColumns(partial, in.cols, launch.splits, column_amax,
                             stream);
}

}  // namespace octet::float8::internal
