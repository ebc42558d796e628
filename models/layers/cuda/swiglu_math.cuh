// SPDX-License-Identifier: Apache-2.0

// The gated activation of one element and of a vector, the same bits in every
// kernel: no product is contracted that is not written so.
//
// Where the result is rounded to bf16, exp and the reciprocal are the
// processor's own: a few f32 ulp, so that one element in ten thousand differs
// from the CPU's in its last bit. A division would be half of all instructions,
// and more than the memory leaves time for.
//
// exp's argument is held where 1 + exp has a normal reciprocal, near where the
// CPU holds it before it overflows.
#ifndef OCTET_MODELS_LAYERS_CUDA_SWIGLU_MATH_CUH_
#define OCTET_MODELS_LAYERS_CUDA_SWIGLU_MATH_CUH_

#include "models/layers/cuda/vector.cuh"

namespace octet::models::internal {

// 1 / (1 + exp(-z)). For NaN any number: z times that is NaN.
template <typename T>
__device__ __forceinline__ float Sigmoid(float z);
template <>
__device__ __forceinline__ float Sigmoid<float>(float z) {
  return __frcp_rn(__fadd_rn(1.0f, expf(fminf(-z, 87.3f))));
}
template <>
__device__ __forceinline__ float Sigmoid<__nv_bfloat16>(float z) {
  constexpr float kLog2E = 1.44269504f;
  float power, reciprocal;
  asm("ex2.approx.ftz.f32 %0, %1;"
      : "=f"(power)
      : "f"(fminf(__fmul_rn(z, -kLog2E), 125.9f)));
  asm("rcp.approx.ftz.f32 %0, %1;"
      : "=f"(reciprocal)
      : "f"(__fadd_rn(1.0f, power)));
  return reciprocal;
}

template <typename T>
__device__ __forceinline__ float SwigluOf(float z, float up) {
  return __fmul_rn(__fmul_rn(z, Sigmoid<T>(z)), up);
}

template <typename T>
__device__ __forceinline__ void SwigluGradients(float z, float up, float dy,
                                                float* dgate, float* dup) {
  const float sigmoid = Sigmoid<T>(z);
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
  for (int i = 0; i < kPerVector<T>; ++i) z[i] = SwigluOf<T>(z[i], u[i]);
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
    SwigluGradients<T>(z[i], u[i], g[i], &z[i], &u[i]);
  }
  *dgate = Pack<T>(z);
  *dup = Pack<T>(u);
}

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_SWIGLU_MATH_CUH_
