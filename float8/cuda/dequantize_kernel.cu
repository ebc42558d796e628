// SPDX-License-Identifier: Apache-2.0

// Float8 back to wider types: the value, times the reciprocal of its scale in
// f32, rounded once to the output's type. Outputs are overwritten.
#include <cuda_fp8.h>

#include <algorithm>

#include "float8/cuda/cast_kernel.h"
#include "float8/cuda/dispatch.cuh"
#include "float8/cuda/encode.cuh"

namespace octet::float8::internal {
namespace {

constexpr int kThreads = 256;
constexpr int kUnroll = 4;
constexpr int kSide = 32;

template <Fp8 kFormat>
__device__ float Decode(uint8_t code) {
  const __half_raw half = __nv_cvt_fp8_to_halfraw(
      code, kFormat == Fp8::kE4M3 ? __NV_E4M3 : __NV_E5M2);
  return __half2float(__half(half));
}

__device__ void Narrow(float x, float* out) { *out = x; }
__device__ void Narrow(float x, __nv_bfloat16* out) {
  *out = __float2bfloat16_rn(x);
}
__device__ void Narrow(float x, __half* out) { *out = __float2half_rn(x); }

__device__ float ReciprocalOf(const DequantizeProblem& p, int64_t row,
                              int64_t col) {
  return Reciprocal(__ldg(p.scale.data +
                          (row >> p.row_shift) * p.scale.row_stride +
                          (col >> p.col_shift) * p.scale.col_stride));
}

// As many elements as make a 16-byte store, kUnroll times a thread; they share
// a scale unless columns have their own. A block is `blockDim.x` threads of a
// row and `blockDim.y` rows; `chunks` blocks share a row.
template <typename T, Fp8 kFormat>
__global__ __launch_bounds__(kThreads) void DequantizeRowsKernel(
    const __grid_constant__ DequantizeProblem p, unsigned chunks) {
  AwaitPredecessor();
  constexpr int kPer = kPerVector<T>;
  const int64_t row =
      static_cast<int64_t>(blockIdx.x / chunks) * blockDim.y + threadIdx.y;
  if (row >= p.rows) return;
  const int64_t first =
      (static_cast<int64_t>(blockIdx.x % chunks) * kUnroll * blockDim.x +
       threadIdx.x) *
      kPer;
  const uint8_t* const in = p.in + row * p.cols;
  const bool by_column = p.scale.col_stride != 0 && p.col_shift == 0;
  uint32_t codes[kUnroll][kPer / 4];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int64_t col = first + u * static_cast<int>(blockDim.x) * kPer;
    if (col >= p.cols) continue;
    if constexpr (kPer == 8) {
      const uint2 two = __ldcs(reinterpret_cast<const uint2*>(in + col));
      codes[u][0] = two.x;
      codes[u][1] = two.y;
    } else {
      codes[u][0] = __ldcs(reinterpret_cast<const uint32_t*>(in + col));
    }
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int64_t col = first + u * static_cast<int>(blockDim.x) * kPer;
    if (col >= p.cols) continue;
    float reciprocal = ReciprocalOf(p, row, col);
    T out[kPer];
#pragma unroll
    for (int k = 0; k < kPer; ++k) {
      if (by_column && k > 0) reciprocal = ReciprocalOf(p, row, col + k);
      const auto code = static_cast<uint8_t>(codes[u][k / 4] >> (k % 4 * 8));
      Narrow(Scaled(Decode<kFormat>(code), reciprocal), &out[k]);
    }
    __stcs(
        reinterpret_cast<uint4*>(static_cast<T*>(p.out) + row * p.cols + col),
        *reinterpret_cast<const uint4*>(out));
  }
}

// A 32x32 square a block, of matrices of any shape and of transposed bytes.
template <typename T, Fp8 kFormat>
__global__ void DequantizeSquaresKernel(
    const __grid_constant__ DequantizeProblem p) {
  AwaitPredecessor();
  __shared__ uint8_t codes[kSide][kSide + 4];
  const int64_t across = (p.cols + kSide - 1) / kSide;
  const int64_t row = blockIdx.x / across * kSide;
  const int64_t col = blockIdx.x % across * kSide;
  for (int i = threadIdx.y; i < kSide; i += blockDim.y) {
    const int64_t r = row + (p.transposed ? threadIdx.x : i);
    const int64_t c = col + (p.transposed ? i : threadIdx.x);
    if (r >= p.rows || c >= p.cols) continue;
    if (p.transposed) {
      codes[threadIdx.x][i] = p.in[c * p.rows + r];
    } else {
      codes[i][threadIdx.x] = p.in[r * p.cols + c];
    }
  }
  __syncthreads();
  const int64_t c = col + threadIdx.x;
  for (int i = threadIdx.y; i < kSide; i += blockDim.y) {
    const int64_t r = row + i;
    if (r >= p.rows || c >= p.cols) continue;
    Narrow(
        Scaled(Decode<kFormat>(codes[i][threadIdx.x]), ReciprocalOf(p, r, c)),
        static_cast<T*>(p.out) + r * p.cols + c);
  }
}

}  // namespace

cudaError_t LaunchDequantize(const DequantizeProblem& p, Fp8 format,
                             cudaStream_t stream) {
  const int64_t per = 16 / SizeOfElement(p.type);
  const bool vectors = !p.transposed && p.cols % per == 0 &&
                       IsAligned(p.in, per) && IsAligned(p.out, 16);
  return ForTypeAndFormat(p.type, format, [&](auto tag, auto constant) {
    using T = typename decltype(tag)::type;
    if (vectors) {
      const int64_t wanted = CeilDiv(CeilDiv(p.cols, kUnroll * per), 32) * 32;
      const auto x = static_cast<unsigned>(std::min<int64_t>(kThreads, wanted));
      const unsigned y = kThreads / x;
      const int64_t chunks = CeilDiv(wanted, x);
      return LaunchDependent(&DequantizeRowsKernel<T, constant.value>,
                             CeilDiv(p.rows, y) * chunks, dim3(x, y), 0, stream,
                             p, static_cast<unsigned>(chunks));
    }
    const int64_t squares = CeilDiv(p.rows, kSide) * CeilDiv(p.cols, kSide);
    return LaunchDependent(&DequantizeSquaresKernel<T, constant.value>, squares,
                           dim3(kSide, 8), 0, stream, p);
  });
}

}  // namespace octet::float8::internal
