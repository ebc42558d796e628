// SPDX-License-Identifier: Apache-2.0

// Conversions on the GPU. Bound by memory: a thread takes four elements at a
// time, which the compiler joins into wide loads where the types allow.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "base/convert_cuda_kernel.h"

namespace octet::internal {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 4096;
constexpr int kPerThread = 4;

__device__ float Widen(double x) { return __double2float_rn(x); }
__device__ float Widen(float x) { return x; }
__device__ float Widen(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ float Widen(__half x) { return __half2float(x); }

__device__ void Narrow(float x, double* out) { *out = x; }
__device__ void Narrow(float x, float* out) { *out = x; }
__device__ void Narrow(float x, __nv_bfloat16* out) {
  *out = __float2bfloat16_rn(x);
}
__device__ void Narrow(float x, __half* out) { *out = __float2half_rn(x); }

template <typename T>
struct alignas(sizeof(T) * kPerThread) Pack {
  T values[kPerThread];
};

// `packs` whole packs, then the elements after them, one a thread.
template <typename From, typename To>
__global__ void ConvertKernel(const From* from, To* to, int64_t packs,
                              int64_t n) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t first =
      static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int64_t i = first; i < packs; i += stride) {
    const Pack<From> in = reinterpret_cast<const Pack<From>*>(from)[i];
    Pack<To> out;
#pragma unroll
    for (int k = 0; k < kPerThread; ++k) {
      Narrow(Widen(in.values[k]), &out.values[k]);
    }
    reinterpret_cast<Pack<To>*>(to)[i] = out;
  }
  for (int64_t i = packs * kPerThread + first; i < n; i += stride) {
    Narrow(Widen(from[i]), &to[i]);
  }
}

template <typename From, typename To>
cudaError_t Launch(const void* from, void* to, int64_t n, cudaStream_t stream) {
  const bool aligned =
      reinterpret_cast<uintptr_t>(from) % sizeof(Pack<From>) == 0 &&
      reinterpret_cast<uintptr_t>(to) % sizeof(Pack<To>) == 0;
  const int64_t packs = aligned ? n / kPerThread : 0;
  const int64_t work = std::max(packs, n - packs * kPerThread);
  const int64_t blocks = std::min(kMaxBlocks, (work + kThreads - 1) / kThreads);
  ConvertKernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      static_cast<const From*>(from), static_cast<To*>(to), packs, n);
  return cudaGetLastError();
}

template <typename From>
cudaError_t LaunchFrom(const void* from, void* to, ConvertType to_type,
                       int64_t n, cudaStream_t stream) {
  switch (to_type) {
    case ConvertType::kF64:
      return Launch<From, double>(from, to, n, stream);
    case ConvertType::kF32:
      return Launch<From, float>(from, to, n, stream);
    case ConvertType::kBf16:
      return Launch<From, __nv_bfloat16>(from, to, n, stream);
    case ConvertType::kF16:
      return Launch<From, __half>(from, to, n, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t LaunchConvert(const void* from, ConvertType from_type, void* to,
                          ConvertType to_type, int64_t n, cudaStream_t stream) {
  switch (from_type) {
    case ConvertType::kF64:
      return Launch<double, float>(from, to, n, stream);
    case ConvertType::kF32:
      return LaunchFrom<float>(from, to, to_type, n, stream);
    case ConvertType::kBf16:
      return LaunchFrom<__nv_bfloat16>(from, to, to_type, n, stream);
    case ConvertType::kF16:
      return LaunchFrom<__half>(from, to, to_type, n, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace octet::internal
