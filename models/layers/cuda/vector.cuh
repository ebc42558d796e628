// SPDX-License-Identifier: Apache-2.0

// What the layers' kernels share: 16-byte vectors of elements, sums and maxima
// over a block, and the maximum over all blocks of a launch.
//
// Sums have one order for a given block size: the same bits every time. Loads
// are plain ones, since outputs may be the memory of inputs.
#ifndef OCTET_MODELS_LAYERS_CUDA_VECTOR_CUH_
#define OCTET_MODELS_LAYERS_CUDA_VECTOR_CUH_

#include <cuda_bf16.h>

#include <atomic>
#include <cstdint>

#include "float8/cuda/encode.cuh"

namespace octet::models::internal {

using float8::internal::kFullWarp;
using float8::internal::kPerVector;
using float8::internal::Unpack;

__device__ __forceinline__ void Narrow(float x, float* out) { *out = x; }
__device__ __forceinline__ void Narrow(float x, __nv_bfloat16* out) {
  *out = __float2bfloat16_rn(x);
}

// Rounded to nearest even.
template <typename T>
__device__ __forceinline__ uint4 Pack(const float (&in)[kPerVector<T>]);
template <>
__device__ __forceinline__ uint4 Pack<float>(const float (&in)[4]) {
  return {__float_as_uint(in[0]), __float_as_uint(in[1]),
          __float_as_uint(in[2]), __float_as_uint(in[3])};
}
__device__ __forceinline__ uint32_t PackPair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
template <>
__device__ __forceinline__ uint4 Pack<__nv_bfloat16>(const float (&in)[8]) {
  return {PackPair(in[0], in[1]), PackPair(in[2], in[3]),
          PackPair(in[4], in[5]), PackPair(in[6], in[7])};
}

// Keeps the compiler from holding the vector's unpacked elements, in twice the
// registers, from an earlier use to a later one.
__device__ __forceinline__ void KeepPacked(uint4* v) {
  asm volatile("" : "+r"(v->x), "+r"(v->y), "+r"(v->z), "+r"(v->w));
}

// The bits of the largest magnitude as an f32's.
template <typename T>
__device__ __forceinline__ unsigned AbsBitsOf(const uint4& v) {
  return float8::internal::WordBits<T>(float8::internal::AbsMaxOfVector<T>(v));
}
template <typename T>
__device__ __forceinline__ unsigned AbsBitsOf(T x) {
  return float8::internal::AbsBits(float8::internal::ToFloat(x));
}

__device__ __forceinline__ float WarpSum(float x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    x = __fadd_rn(x, __shfl_xor_sync(kFullWarp, x, offset));
  }
  return x;
}

// Over a block of whole warps; every thread gets it. `shared` has 32 elements
// and must not be in use; all threads call.
__device__ __forceinline__ float BlockSum(float x, float* shared) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  x = WarpSum(x);
  if (lane == 0) shared[warp] = x;
  __syncthreads();
  return WarpSum(lane < blockDim.x / 32 ? shared[lane] : 0.0f);
}

// The maximum of kCount magnitudes over all threads of the launch, written to
// out[k] (null: dropped) by the last block. `counters` are the stream's: one
// for the blocks that are done, then the maxima; zero before and after.
template <int kCount>
__device__ void GridMax(const unsigned (&bits)[kCount], unsigned* counters,
                        float* const (&out)[kCount]) {
  __shared__ unsigned shared[kCount][32];
  // Read ahead, while the block finds its own: an older value is a smaller one.
  unsigned known[kCount] = {};
  unsigned largest[kCount];
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    if (threadIdx.x == 0) {
      known[k] = *static_cast<volatile unsigned*>(counters + 1 + k);
    }
  }
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    largest[k] = float8::internal::BlockMax(bits[k], shared[k]);
  }
  if (threadIdx.x != 0) return;
  // Most blocks find a maximum that is none of theirs: they have nothing to
  // queue for, and nothing that must be seen before their count.
  bool raised = false;
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    if (largest[k] > known[k]) {
      atomicMax(counters + 1 + k, largest[k]);
      raised = true;
    }
  }
  if (raised) __threadfence();
  if (atomicAdd(counters, 1u) != gridDim.x * gridDim.y - 1) return;
  __threadfence();
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    const unsigned all = atomicExch(counters + 1 + k, 0u);
    if (out[k] != nullptr) *out[k] = __uint_as_float(all);
  }
  atomicExch(counters, 0u);
}

// How many blocks of so many threads run at once on the current device.
template <auto kKernel>
int ResidentBlocks(int threads) {
  static std::atomic<int> per_sm[33];  // by warps; GPUs of a machine are alike
  std::atomic<int>& known = per_sm[threads / 32];
  int blocks = known.load(std::memory_order_relaxed);
  if (blocks == 0) {
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kKernel, threads, 0);
    blocks = blocks < 1 ? 1 : blocks;
    known.store(blocks, std::memory_order_relaxed);
  }
  int device = 0, sms = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  return blocks * sms;
}

// Blocks for so many pieces of work, as many each as can be: a last round that
// few of the blocks have work for leaves the memory idle.
inline int64_t EvenBlocks(int64_t work, int resident) {
  const int64_t rounds = (work + resident - 1) / resident;
  return (work + rounds - 1) / rounds;
}

inline bool IsAligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0;
}

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_VECTOR_CUH_
