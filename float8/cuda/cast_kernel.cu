// SPDX-License-Identifier: Apache-2.0

// Casts by 128x128 tiles, a block each, and the sums of columns that they leave
// in parts. Outputs are overwritten.
#include <string>

#include "float8/cuda/amax_kernel.h"
#include "float8/cuda/cast_access.cuh"
#include "float8/cuda/cast_tile.cuh"
#include "float8/cuda/dispatch.cuh"

namespace octet::float8::internal {
namespace {

template <typename T, Fp8 kFormat, ScaleKind kKind, bool kAligned>
__global__ __launch_bounds__(
    kTileThreads,
    kAligned
        ? kCastBlocksPerSm<T>
        : 1) void CastTilesKernel(const __grid_constant__ CastProblem p,
                                  const __grid_constant__ CastAccess access) {
  extern __shared__ uint4 slots[];
  __shared__ CastShared<T> shared;
  AwaitPredecessor();
  if (IsClosed(p.gate)) return;
  CastBlock<T, kFormat, kKind, kAligned>(p, access, blockIdx.x, gridDim.x,
                                         slots, shared);
}

template <ScaleKind kKind>
cudaError_t LaunchKind(const CastProblem& p, Fp8 format, cudaStream_t stream) {
  const CastLaunch launch = CastTilesLaunch(p);
  const CastAccess access = AccessOf(p);
  return ForTypeAndFormat(p.in.type, format, [&](auto tag, auto constant) {
    using T = typename decltype(tag)::type;
    constexpr Fp8 kFormat = constant.value;
    const bool aligned = IsAligned(access);
    const auto kernel = aligned ? &CastTilesKernel<T, kFormat, kKind, true>
                                : &CastTilesKernel<T, kFormat, kKind, false>;
    return LaunchTiles(kernel, SlotBytes<T>(aligned), launch.blocks, stream, p,
                       access);
  });
}

// 32 columns a block; 32 warps share the row tiles, and a warp then adds the
// 32 sums of a column in a tree.
__global__ void ColumnSumKernel(const float* partials, int64_t row_tiles,
                                int64_t cols, float* sums) {
  AwaitPredecessor();
  __shared__ float shared[32][33];
  const int64_t c = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x;
  float sum = 0.0f;
  if (c < cols) {
    for (int64_t i = threadIdx.y; i < row_tiles; i += 32) {
      sum += partials[i * cols + c];
    }
  }
  shared[threadIdx.x][threadIdx.y] = sum;
  __syncthreads();
  sum = shared[threadIdx.y][threadIdx.x];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    sum += __shfl_xor_sync(kFullWarp, sum, step);
  }
  const int64_t own = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.y;
  if (threadIdx.x == 0 && own < cols) sums[own] = sum;
}

template <Fp8 kFormat>
__global__ void SettleScalesKernel(const __grid_constant__ ScaleTarget target,
                                   int64_t rows, int64_t cols) {
  AwaitPredecessor();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= rows * cols) return;
  Settle<kFormat>(target, i / cols, i % cols,
                  GivenOf(target, i / cols, i % cols), 0u, true);
  if (target.seen_amax != nullptr) {
    target.seen_amax[OffsetOf(target.scale, i / cols, i % cols)] = 0.0f;
  }
}

}  // namespace

std::string CastLaunch::ToString() const {
  return std::to_string(blocks) + " blocks of " + std::to_string(threads_x) +
         " x " + std::to_string(threads_y) + " threads";
}

CastLaunch CastTilesLaunch(const CastProblem& p) {
  CastLaunch launch;
  launch.blocks = Tiles(p.in.rows) * Tiles(p.in.cols);
  launch.threads_x = kTileThreads;
  return launch;
}

cudaError_t LaunchCastTiles(const CastProblem& problem, Fp8 format,
                            ScaleKind kind, cudaStream_t stream) {
  switch (kind) {
    case ScaleKind::kTile:
      return LaunchKind<ScaleKind::kTile>(problem, format, stream);
    case ScaleKind::kRow:
      return LaunchKind<ScaleKind::kRow>(problem, format, stream);
    case ScaleKind::kColumn:
      return LaunchKind<ScaleKind::kColumn>(problem, format, stream);
    case ScaleKind::kRowAndColumn:
      return LaunchKind<ScaleKind::kRowAndColumn>(problem, format, stream);
  }
  return cudaErrorInvalidValue;
}

cudaError_t LaunchSettleScales(const ScaleTarget& target, int64_t rows,
                               int64_t cols, Fp8 format, cudaStream_t stream) {
  if (rows * cols == 0) return cudaSuccess;
  const auto kernel = format == Fp8::kE4M3 ? &SettleScalesKernel<Fp8::kE4M3>
                                           : &SettleScalesKernel<Fp8::kE5M2>;
  return LaunchDependent(kernel, CeilDiv(rows * cols, kTileThreads),
                         kTileThreads, 0, stream, target, rows, cols);
}

cudaError_t LaunchColumnSum(const float* partials, int64_t row_tiles,
                            int64_t cols, float* sums, cudaStream_t stream) {
  return LaunchDependent(&ColumnSumKernel, CeilDiv(cols, 32), dim3(32, 32), 0,
                         stream, partials, row_tiles, cols, sums);
}

}  // namespace octet::float8::internal
