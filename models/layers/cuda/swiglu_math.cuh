// SPDX-License-Identifier: Apache-2.0

// The gated activation of one element and of a vector, the same bits in every
// kernel: no product is contracted that is not written so.
//
// exp's argument is held below what overflows, as the CPU's does, so that a
// gate of -inf stays visible.
#ifndef OCTET_MODELS_LAYERS_CUDA_SWIGLU_MATH_CUH_
#define OCTET_MODELS_LAYERS_CUDA_SWIGLU_MATH_CUH_

#include "models/layers/cuda/vector.cuh"

namespace octet::models::internal {

// 1 + exp(-z). For NaN any number: what is divided by it is NaN.
__device__ __forceinline__ float OnePlusExp(float z) {
  return __fadd_rn(1.0f, expf(fminf(-z, 88.37f)));
}

__device__ __forceinline__ float SwigluOf(float z, float up) {
  return __fmul_rn(__fdiv_rn(z, OnePlusExp(z)), up);
}

__device__ __forceinline__ void SwigluGradients(float z, float up, float dy,
                                                float* dgate, float* dup) {
  const float sigmoid = __frcp_rn(OnePlusExp(z));
  const float silu = __fmul_rn(z, sigmoid);
  const float slope = __fmaf_rn(silu, __fsub_rn(1.0f, sigmoid), sigmoid);
  *dgate = __fmul_rn(__fmul_rn(dy, up), slope);
  *dup = __fmul_rn(dy, silu);
}

template <typename T>
__device__ __forceinline__ uint4 SwigluOf(const uint4& gate, const uint4& up) {
  float z[kPerVector<T>], u[kPerVector<T>];
  Unpack<T>(gate, z);
  Unpack<T>(up, u);
#pragma unroll
  for (int i = 0; i < kPerVector<T>; ++i) z[i] = SwigluOf(z[i], u[i]);
  return Pack<T>(z);
}

template <typename T>
__device__ __forceinline__ void SwigluGradients(const uint4& gate,
                                                const uint4& up,
                                                const uint4& dy, uint4* dgate,
                                                uint4* dup) {
  float z[kPerVector<T>], u[kPerVector<T>], g[kPerVector<T>];
  Unpack<T>(gate, z);
  Unpack<T>(up, u);
  Unpack<T>(dy, g);
#pragma unroll
  for (int i = 0; i < kPerVector<T>; ++i) {
    SwigluGradients(z[i], u[i], g[i], &z[i], &u[i]);
  }
  *dgate = Pack<T>(z);
  *dup = Pack<T>(u);
}

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_SWIGLU_MATH_CUH_
