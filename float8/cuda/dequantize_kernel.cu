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
constexpr int kPerThread = 16;
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

// 16 elements of a row a thread; they share a scale unless columns have their
// own. A block is `blockDim.x` threads of a row and `blockDim.y` rows.
template <typename T, Fp8 kFormat>
__global__ __launch_bounds__(kThreads) void DequantizeRowsKernel(
    const __grid_constant__ DequantizeProblem p, int chunks) {
  const int64_t row =
      static_cast<int64_t>(blockIdx.x / chunks) * blockDim.y + threadIdx.y;
  const int64_t col =
      (blockIdx.x % chunks * static_cast<int64_t>(blockDim.x) + threadIdx.x) *
      kPerThread;
  if (row >= p.rows || col >= p.cols) return;
  const int64_t at = row * p.cols + col;
  const uint4 codes = LoadVector(p.in + at);
  const uint32_t words[4] = {codes.x, codes.y, codes.z, codes.w};
  const bool by_column = p.scale.col_stride != 0 && p.col_shift == 0;
  float reciprocal = ReciprocalOf(p, row, col);
  constexpr int kPer = kPerVector<T>;
#pragma unroll
  for (int part = 0; part < kPerThread / kPer; ++part) {
    T out[kPer];
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      const int k = part * kPer + i;
      if (by_column) reciprocal = ReciprocalOf(p, row, col + k);
      const auto code = static_cast<uint8_t>(words[k / 4] >> (k % 4 * 8));
      Narrow(Scaled(Decode<kFormat>(code), reciprocal), &out[i]);
    }
    __stcs(reinterpret_cast<uint4*>(static_cast<T*>(p.out) + at) + part,
           *reinterpret_cast<const uint4*>(out));
  }
}

// A 32x32 square a block, of matrices of any shape and of transposed bytes.
template <typename T, Fp8 kFormat>
__global__ void DequantizeSquaresKernel(
    const __grid_constant__ DequantizeProblem p) {
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
  const bool vectors = !p.transposed && p.cols % kPerThread == 0 &&
                       IsAligned(p.in, kPerThread) && IsAligned(p.out, 16);
  return ForTypeAndFormat(p.type, format, [&](auto tag, auto constant) {
    using T = typename decltype(tag)::type;
    if (vectors) {
      const int64_t wanted = CeilDiv(p.cols / kPerThread, 32) * 32;
      const auto x = static_cast<unsigned>(std::min<int64_t>(kThreads, wanted));
      const unsigned y = kThreads / x;
      const int64_t chunks = CeilDiv(wanted, x);
      DequantizeRowsKernel<T, constant.value>
          <<<static_cast<unsigned>(CeilDiv(p.rows, y) * chunks), dim3(x, y), 0,
             stream>>>(p, static_cast<int>(chunks));
    } else {
      const int64_t squares = CeilDiv(p.rows, kSide) * CeilDiv(p.cols, kSide);
      DequantizeSquaresKernel<T, constant.value>
          <<<static_cast<unsigned>(squares), dim3(kSide, 8), 0, stream>>>(p);
    }
    return cudaGetLastError();
  });
}

}  // namespace octet::float8::internal
