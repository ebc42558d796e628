// SPDX-License-Identifier: Apache-2.0

// Everything here overwrites; nothing is read of an output but by beta.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "float8/cuda/gemm_kernel.h"

namespace octet::float8::internal {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 8192;
constexpr int kTile = 64;     // bytes of the side of a transposed tile
constexpr int kTileRows = 4;  // of kTile threads
constexpr int kColumns = 4;   // of the result, a thread

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

unsigned BlocksFor(int64_t work) {
  return static_cast<unsigned>(std::min(kMaxBlocks, CeilDiv(work, kThreads)));
}

__device__ int64_t FirstIndex() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ int64_t AllThreads() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

// A thread writes 16 bytes of a row.
__global__ void PadKernel(GemmBytes p) {
  const int64_t packs = p.to_k / 16;
  const uint8_t* const from = static_cast<const uint8_t*>(p.from);
  for (int64_t i = FirstIndex(); i < p.to_outer * packs; i += AllThreads()) {
    const int64_t row = i / packs, k = i % packs * 16;
    alignas(16) uint8_t bytes[16];
#pragma unroll
    for (int b = 0; b < 16; ++b) {
      bytes[b] = row < p.outer && k + b < p.k ? from[row * p.from_ld + k + b]
                                              : uint8_t{0};
    }
    reinterpret_cast<uint4*>(p.to)[i] = *reinterpret_cast<uint4*>(bytes);
  }
}

__global__ void TransposeKernel(GemmBytes p) {
  // A row of 68 bytes puts a column's bytes into different banks.
  __shared__ uint8_t tile[kTile][kTile + 4];
  const uint8_t* const from = static_cast<const uint8_t*>(p.from);
  uint8_t* const to = static_cast<uint8_t*>(p.to);
  const int64_t outer0 = static_cast<int64_t>(blockIdx.x) * kTile;
  const int64_t k0 = static_cast<int64_t>(blockIdx.y) * kTile;
  for (int i = threadIdx.y; i < kTile; i += kTileRows) {
    const int64_t k = k0 + i, outer = outer0 + threadIdx.x;
    tile[i][threadIdx.x] =
        k < p.k && outer < p.outer ? from[k * p.from_ld + outer] : uint8_t{0};
  }
  __syncthreads();
  for (int i = threadIdx.y; i < kTile; i += kTileRows) {
    const int64_t outer = outer0 + i, k = k0 + threadIdx.x;
    if (outer < p.to_outer && k < p.to_k) {
      to[outer * p.to_k + k] = tile[threadIdx.x][i];
    }
  }
}

__global__ void ReciprocalsKernel(GemmReciprocals p) {
  for (int64_t i = FirstIndex(); i < p.rows * p.to_cols; i += AllThreads()) {
    const int64_t row = i / p.to_cols, col = i % p.to_cols;
    p.to[i] =
        col < p.cols
            ? __fdiv_rn(1.0f, p.scale[row * p.row_stride + col * p.col_stride])
            : 0.0f;
  }
}

__global__ void WidenKernel(const __nv_bfloat16* from, int64_t ld, int64_t rows,
                            int64_t cols, float* to) {
  for (int64_t i = FirstIndex(); i < rows * cols; i += AllThreads()) {
    to[i] = __bfloat162float(from[i / cols * ld + i % cols]);
  }
}

__device__ float Add(float a, float b) { return __fadd_rn(a, b); }
__device__ double Add(double a, double b) { return __dadd_rn(a, b); }
__device__ float Times(float a, float b) { return __fmul_rn(a, b); }
__device__ double Times(double a, double b) { return __dmul_rn(a, b); }

template <typename Sum>
__device__ Sum LoadElement(const void* from, GemmElement type, int64_t i) {
  switch (type) {
    case GemmElement::kF64:
      return static_cast<Sum>(static_cast<const double*>(from)[i]);
    case GemmElement::kBf16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(from)[i]);
    case GemmElement::kF16:
      return __half2float(static_cast<const __half*>(from)[i]);
    default:
      return static_cast<const float*>(from)[i];
  }
}

template <typename Sum>
__device__ void StoreElement(Sum x, void* to, GemmElement type, int64_t i) {
  switch (type) {
    case GemmElement::kF64:
      static_cast<double*>(to)[i] = x;
      break;
    case GemmElement::kBf16:
      static_cast<__nv_bfloat16*>(to)[i] =
          __float2bfloat16_rn(static_cast<float>(x));
      break;
    case GemmElement::kF16:
      static_cast<__half*>(to)[i] = __float2half_rn(static_cast<float>(x));
      break;
    default:
      static_cast<float*>(to)[i] = static_cast<float>(x);
  }
}

// The finaliser of splitmix64: every bit of the word and of its place counts.
__device__ unsigned long long Mix(unsigned long long x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

__global__ void DigestKernel(const uint8_t* data, int64_t bytes,
                             unsigned long long* digest) {
  unsigned long long sum = 0;
  const int64_t words = bytes / 8;
  for (int64_t i = FirstIndex(); i < words; i += AllThreads()) {
    sum += Mix(reinterpret_cast<const unsigned long long*>(data)[i] +
               0x9e3779b97f4a7c15ull * (i + 1));
  }
  for (int64_t i = words * 8 + FirstIndex(); i < bytes; i += AllThreads()) {
    sum += Mix(data[i] + 0x9e3779b97f4a7c15ull * ~i);
  }
  for (int lane = 16; lane > 0; lane /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, lane);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(digest, sum);
}

// A block takes some columns of one row.
template <typename Sum>
__global__ void FinishKernel(GemmFinish p) {
  const int64_t row = blockIdx.x;
  const Sum* const sums = static_cast<const Sum*>(p.sums);
  const Sum beta = static_cast<Sum>(p.beta);
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    const int64_t col =
        (static_cast<int64_t>(blockIdx.y) * kColumns + j) * kThreads +
        threadIdx.x;
    if (col >= p.n) return;
    const int64_t i = row * p.n + col;
    Sum value = sums == nullptr ? Sum{0} : sums[row * p.sums_ld + col];
    if (beta != Sum{0}) {
      value = Add(value, Times(beta, LoadElement<Sum>(p.out, p.out_type, i)));
    }
    if (p.bias != nullptr) {
      value = Add(value, LoadElement<Sum>(p.bias, p.bias_type, col));
    }
    StoreElement(value, p.out, p.out_type, i);
  }
}

}  // namespace

cudaError_t LaunchGemmBytes(const GemmBytes& p, cudaStream_t stream) {
  if (p.is_transposed) {
    const dim3 grid(static_cast<unsigned>(CeilDiv(p.to_outer, kTile)),
                    static_cast<unsigned>(CeilDiv(p.to_k, kTile)));
    TransposeKernel<<<grid, dim3(kTile, kTileRows), 0, stream>>>(p);
  } else {
    PadKernel<<<BlocksFor(p.to_outer * (p.to_k / 16)), kThreads, 0, stream>>>(
        p);
  }
  return cudaGetLastError();
}

cudaError_t LaunchGemmReciprocals(const GemmReciprocals& p,
                                  cudaStream_t stream) {
  ReciprocalsKernel<<<BlocksFor(p.rows * p.to_cols), kThreads, 0, stream>>>(p);
  return cudaGetLastError();
}

cudaError_t LaunchGemmWiden(const void* from, int64_t ld, int64_t rows,
                            int64_t cols, float* to, cudaStream_t stream) {
  WidenKernel<<<BlocksFor(rows * cols), kThreads, 0, stream>>>(
      static_cast<const __nv_bfloat16*>(from), ld, rows, cols, to);
  return cudaGetLastError();
}

cudaError_t LaunchGemmDigest(const void* data, int64_t bytes,
                             unsigned long long* digest, cudaStream_t stream) {
  DigestKernel<<<BlocksFor(bytes / 8 + 1), kThreads, 0, stream>>>(
      static_cast<const uint8_t*>(data), bytes, digest);
  return cudaGetLastError();
}

cudaError_t LaunchGemmFinish(const GemmFinish& p, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(p.m),
                  static_cast<unsigned>(CeilDiv(p.n, kThreads * kColumns)));
  if (p.out_type == GemmElement::kF64) {
    FinishKernel<double><<<grid, kThreads, 0, stream>>>(p);
  } else {
    FinishKernel<float><<<grid, kThreads, 0, stream>>>(p);
  }
  return cudaGetLastError();
}

}  // namespace octet::float8::internal
