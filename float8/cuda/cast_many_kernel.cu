// SPDX-License-Identifier: Apache-2.0

// Casts of many matrices in one launch, a block a 128x128 tile. Outputs are
// overwritten.
#include "float8/cuda/cast_access.cuh"
#include "float8/cuda/cast_tile.cuh"
#include "float8/cuda/dispatch.cuh"

namespace octet::float8::internal {
namespace {

struct Table {
  CastProblems of;
  CastAccess access[kMaxCasts];
};

template <typename T, Fp8 kFormat, bool kAligned>
__global__ __launch_bounds__(
    kTileThreads,
    kAligned ? kCastBlocksPerSm<T>
             : 1) void CastManyKernel(const __grid_constant__ Table table) {
  extern __shared__ uint4 slots[];
  __shared__ CastShared<T> shared;
  AwaitPredecessor();
  // From the end: what the amax before it read last may still be in the cache.
  const int64_t block = gridDim.x - 1 - blockIdx.x;
  int low = 0, high = table.of.count - 1;  // the last that starts by this block
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (table.of.first[middle] <= block) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const int64_t first = table.of.first[low];
  CastBlock<T, kFormat, ScaleKind::kTile, kAligned>(
      table.of.problems[low], table.access[low],
      static_cast<unsigned>(block - first),
      static_cast<unsigned>(table.of.first[low + 1] - first), slots, shared);
}

}  // namespace

bool CastIsAligned(const CastProblem& problem) {
  return IsAligned(AccessOf(problem));
}

cudaError_t LaunchCastMany(const CastProblems& problems, ElementType type,
                           Fp8 format, cudaStream_t stream) {
  Table table;
  table.of = problems;
  bool aligned = true;
  for (int i = 0; i < problems.count; ++i) {
    table.access[i] = AccessOf(problems.problems[i]);
    aligned = aligned && IsAligned(table.access[i]);
  }
  return ForTypeAndFormat(type, format, [&](auto tag, auto constant) {
    using T = typename decltype(tag)::type;
    const auto kernel = aligned ? &CastManyKernel<T, constant.value, true>
                                : &CastManyKernel<T, constant.value, false>;
    return LaunchTiles(kernel, SlotBytes<T>(aligned),
                       problems.first[problems.count], stream, table);
  });
}

}  // namespace octet::float8::internal
