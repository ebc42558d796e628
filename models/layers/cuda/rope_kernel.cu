// SPDX-License-Identifier: Apache-2.0

// Rotates in place, bound by memory. A thread turns the same pairs of a few
// heads, whose cosines and sines it reads once. Products are never contracted:
// the CPU's bits.
#include <algorithm>

#include "models/layers/cuda/rope_kernel.h"
#include "models/layers/cuda/vector.cuh"

namespace octet::models::internal {
namespace {

using float8::internal::ToFloat;

constexpr int kThreads = 256;
constexpr int kHeads = 4;  // of a thread

__device__ __forceinline__ void Turn(float cosine, float sine, float* low,
                                     float* high) {
  const float a = *low, b = *high;
  *low = __fsub_rn(__fmul_rn(a, cosine), __fmul_rn(b, sine));
  *high = __fadd_rn(__fmul_rn(b, cosine), __fmul_rn(a, sine));
}

template <int kPer>
__device__ __forceinline__ void LoadFloats(const float* from,
                                           float (&out)[kPer]) {
#pragma unroll
  for (int i = 0; i < kPer; i += 4) {
    const float4 v = __ldg(reinterpret_cast<const float4*>(from + i));
    out[i] = v.x;
    out[i + 1] = v.y;
    out[i + 2] = v.z;
    out[i + 3] = v.w;
  }
}

// Lanes of a row: `vectors` for each of `groups` heads, and as many again for
// the heads that are groups further on; `lanes` threads take them. A block has
// as many rows as it has threads for.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    VectorKernel(RopeProblem p, int vectors, int groups, int lanes) {
  constexpr int kPer = kPerVector<T>;
  const int rows = kThreads / lanes;
  const int in_block = static_cast<int>(threadIdx.x) / lanes;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * rows + in_block;
  const bool has_row = in_block < rows && row < p.rows;
  const float* const table = p.table + row % p.length * 2 * p.half;
  uint4* const x = static_cast<uint4*>(p.x) + row * p.heads * 2 * vectors;
  unsigned largest = 0;
  for (int lane = static_cast<int>(threadIdx.x) % lanes;
       has_row && lane < vectors * groups; lane += lanes) {
    const int v = lane % vectors;
    const int group = lane / vectors;
    uint4 low[kHeads], high[kHeads];
#pragma unroll
    for (int k = 0; k < kHeads; ++k) {
      const int64_t head = group + k * groups;
      if (head >= p.heads) break;
      low[k] = x[head * 2 * vectors + v];
      high[k] = x[(head * 2 + 1) * vectors + v];
    }
    float cosine[kPer], sine[kPer];
    LoadFloats(table + v * kPer, cosine);
    LoadFloats(table + p.half + v * kPer, sine);
#pragma unroll
    for (int i = 0; i < kPer; ++i) sine[i] = __fmul_rn(sine[i], p.sign);
#pragma unroll
    for (int k = 0; k < kHeads; ++k) {
      const int64_t head = group + k * groups;
      if (head >= p.heads) break;
      float a[kPer], b[kPer];
      Unpack<T>(low[k], a);
      Unpack<T>(high[k], b);
#pragma unroll
      for (int i = 0; i < kPer; ++i) Turn(cosine[i], sine[i], &a[i], &b[i]);
      const uint4 turned_low = Pack<T>(a), turned_high = Pack<T>(b);
      largest = max(largest,
                    max(AbsBitsOf<T>(turned_low), AbsBitsOf<T>(turned_high)));
      x[head * 2 * vectors + v] = turned_low;
      x[(head * 2 + 1) * vectors + v] = turned_high;
    }
  }
  if (p.amax != nullptr) GridMax<1>({largest}, p.counters, {p.amax});
}

// Any half and alignment; a block for each row.
template <typename T>
__global__ void __launch_bounds__(kThreads) ScalarKernel(RopeProblem p) {
  const int64_t row = blockIdx.x;
  const float* const table = p.table + row % p.length * 2 * p.half;
  T* const x = static_cast<T*>(p.x) + row * p.heads * 2 * p.half;
  unsigned largest = 0;
  for (int64_t at = threadIdx.x; at < p.heads * p.half; at += kThreads) {
    const int64_t head = at / p.half, i = at % p.half;
    T* const low = x + head * 2 * p.half + i;
    T* const high = low + p.half;
    float a = ToFloat(*low), b = ToFloat(*high);
    Turn(table[i], __fmul_rn(table[p.half + i], p.sign), &a, &b);
    Narrow(a, low);
    Narrow(b, high);
    largest = max(largest, max(AbsBitsOf(*low), AbsBitsOf(*high)));
  }
  if (p.amax != nullptr) GridMax<1>({largest}, p.counters, {p.amax});
}

template <typename T>
cudaError_t Launch(const RopeProblem& p, cudaStream_t stream) {
  if (!IsAligned(p.x) || !IsAligned(p.table) || p.half % kPerVector<T> != 0) {
    ScalarKernel<T><<<static_cast<unsigned>(p.rows), kThreads, 0, stream>>>(p);
    return cudaGetLastError();
  }
  const int64_t vectors = p.half / kPerVector<T>;
  const int64_t groups = (p.heads + kHeads - 1) / kHeads;
  const int64_t lanes = std::min<int64_t>(vectors * groups, kThreads);
  const int64_t rows = kThreads / lanes;
  VectorKernel<T><<<static_cast<unsigned>((p.rows + rows - 1) / rows), kThreads,
                    0, stream>>>(p, static_cast<int>(vectors),
                                 static_cast<int>(groups),
                                 static_cast<int>(lanes));
  return cudaGetLastError();
}

}  // namespace

cudaError_t LaunchRope(const RopeProblem& p, cudaStream_t stream) {
  return p.type == ElementType::kBf16 ? Launch<__nv_bfloat16>(p, stream)
                                      : Launch<float>(p, stream);
}

}  // namespace octet::models::internal
