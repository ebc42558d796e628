// SPDX-License-Identifier: Apache-2.0

// Dynamic scaling of a whole tensor from one read: the tensor waits in
// registers and shared memory until its amax is known to all blocks, which all
// run at once. Outputs are overwritten.
//
// An H200 holds 34 MiB this way, a 4096x4096 bf16 weight among them, whose
// bytes then move once in and twice out: 4 a element instead of 6.
#include <algorithm>

#include "float8/cuda/amax_kernel.h"
#include "float8/cuda/cast_access.cuh"
#include "float8/cuda/cast_tile.cuh"
#include "float8/cuda/dispatch.cuh"

namespace octet::float8::internal {
namespace {

constexpr int kBlocksPerSm = 2;
// Tiles that a block keeps in shared memory; it has one more in registers.
// Twice this, the transposed bytes and what the device reserves fill an SM.
constexpr int kStashed = 3;
constexpr int kTileBytes = kTile * kTile * 2;

// Counters: blocks that arrived, the amax, blocks that left.
constexpr int kArrived = 0;
constexpr int kAmax = 1;
constexpr int kLeft = 2;

template <typename T>
using TileVectors = uint4[TileMap<T>::kRows];

__device__ __forceinline__ unsigned LoadAcquire(const uint32_t* from) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(from)
               : "memory");
  return value;
}

// The amax of all blocks. All threads call; the last block to leave sets the
// counters back.
__device__ unsigned MeetAll(unsigned bits, uint32_t* counters,
                            unsigned* shared) {
  bits = BlockMax(bits, shared);
  __shared__ unsigned all;
  if (threadIdx.x == 0) {
    atomicMax(counters + kAmax, bits);
    __threadfence();
    atomicAdd(counters + kArrived, 1u);
    while (LoadAcquire(counters + kArrived) < gridDim.x) {
    }
    all = LoadAcquire(counters + kAmax);
    __threadfence();
    if (atomicInc(counters + kLeft, gridDim.x - 1) == gridDim.x - 1) {
      counters[kArrived] = 0;
      counters[kAmax] = 0;
    }
  }
  __syncthreads();
  return all;
}

// A thread's own vectors of tile i: no other thread touches them.
template <typename T>
__device__ __forceinline__ uint4* StashOf(uint4* stash, int i) {
  return stash + (i * TileMap<T>::kRows) * kTileThreads + threadIdx.x;
}

template <TileAccess kAccess, typename T>
__device__ __forceinline__ void StoreTile(const CastProblem& p,
                                          const TilePlace& place,
                                          const TileBytes<T>& q,
                                          uint8_t* shared) {
  if (p.data != nullptr) StoreRows<T, kAccess>(p, place, true, q);
  if (p.transposed == nullptr) return;
  ShareTransposed<T>(q, shared);
  __syncthreads();
  StoreTransposed<T, kAccess>(p, place, 16, shared);
  __syncthreads();
}

// Bytes of one tile by a scale that all of it shares.
template <typename T, Fp8 kFormat>
__device__ __forceinline__ void WriteTile(const CastProblem& p,
                                          const TilePlace& place,
                                          const TileVectors<T>& v, float scale,
                                          uint8_t* shared) {
  TileBytes<T> q;
  EncodeTile<T, kFormat>(
      v, [&](int, int) { return scale; }, q);
  if (place.is_full()) {
    StoreTile<TileAccess::kFull, T>(p, place, q, shared);
  } else {
    StoreTile<TileAccess::kVectors, T>(p, place, q, shared);
  }
}

template <typename T, Fp8 kFormat>
__global__ __launch_bounds__(
    kTileThreads,
    kBlocksPerSm) void CastResidentKernel(const __grid_constant__ CastProblem p,
                                          uint32_t* counters) {
  extern __shared__ uint4 stash[];
  __shared__ uint4 transposed[kTile * kTile / 16];
  __shared__ unsigned maxima[32];
  const auto across = static_cast<unsigned>(TilesAlong(p.in.cols));
  const auto tiles = across * static_cast<unsigned>(TilesAlong(p.in.rows));
  // Tiles first, first + grid, ...: the last one waits in registers.
  const int stashed = static_cast<int>((tiles - 1 - blockIdx.x) / gridDim.x);
  const auto place_of = [&](int i) {
    const unsigned tile = blockIdx.x + i * gridDim.x;
    return PlaceOf(tile / across, tile % across, p.in.rows, p.in.cols);
  };
  for (int i = 0; i < stashed; ++i) {
    FetchTile<T>(static_cast<const T*>(p.in.data), p.in.cols, place_of(i),
                 StashOf<T>(stash, i));
  }
  TileVectors<T> last;
  LoadTile<T, TileAccess::kVectors>(static_cast<const T*>(p.in.data), p.in.cols,
                                    place_of(stashed), true, last);
  unsigned bits = AmaxOfThread<T>(last);
  TileVectors<T> v;
  for (int i = 0; i < stashed; ++i) {
    TakeTile<T>(StashOf<T>(stash, i), v);
    bits = max(bits, AmaxOfThread<T>(v));
  }
  bits = MeetAll(bits, counters, maxima);
  const float scale = Settle<kFormat>(p.scale, 0, 0, 0.0f, bits,
                                      blockIdx.x == 0 && threadIdx.x == 0);
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(transposed);
  WriteTile<T, kFormat>(p, place_of(stashed), last, scale, bytes);
  for (int i = 0; i < stashed; ++i) {
    TakeTile<T>(StashOf<T>(stash, i), v);
    WriteTile<T, kFormat>(p, place_of(i), v, scale, bytes);
  }
}

template <typename T, Fp8 kFormat>
cudaError_t Launch(const CastProblem& p, int blocks, uint32_t* counters,
                   cudaStream_t stream) {
  constexpr int kShared = kStashed * kTileBytes;
  const auto kernel = &CastResidentKernel<T, kFormat>;
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  if (error != cudaSuccess) return error;
  // All blocks wait for each other, so all must run at once.
  cudaLaunchAttribute cooperative = {};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(kTileThreads);
  config.dynamicSmemBytes = kShared;
  config.stream = stream;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, p, counters);
}

int64_t TilesOf(const MatrixIn& in) { return Tiles(in.rows) * Tiles(in.cols); }

}  // namespace

bool CastResidentFits(const CastProblem& p, int device) {
  return p.in.type != ElementType::kF32 && IsAligned(AccessOf(p)) &&
         p.column_partials == nullptr && p.gate.history_amax == nullptr &&
         p.scale.seen_amax == nullptr &&
         TilesOf(p.in) <=
             int64_t{kBlocksPerSm * (kStashed + 1)} * MultiprocessorsOf(device);
}

cudaError_t LaunchCastResident(const CastProblem& p, Fp8 format, int device,
                               uint32_t* counters, cudaStream_t stream) {
  const int blocks = static_cast<int>(std::min<int64_t>(
      TilesOf(p.in), kBlocksPerSm * MultiprocessorsOf(device)));
  const auto launch = [&](auto tag) {
    using T = typename decltype(tag)::type;
    return format == Fp8::kE4M3
               ? Launch<T, Fp8::kE4M3>(p, blocks, counters, stream)
               : Launch<T, Fp8::kE5M2>(p, blocks, counters, stream);
  };
  return p.in.type == ElementType::kBf16 ? launch(TypeTag<__nv_bfloat16>())
                                         : launch(TypeTag<__half>());
}

}  // namespace octet::float8::internal
