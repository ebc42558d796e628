// SPDX-License-Identifier: Apache-2.0

// float8 of a vector of eight bf16, for formats that are known at run time: a
// branch that all threads take alike.
#ifndef OCTET_MODELS_LAYERS_CUDA_ENCODE_VECTOR_CUH_
#define OCTET_MODELS_LAYERS_CUDA_ENCODE_VECTOR_CUH_

#include "float8/cuda/encode.cuh"
#include "float8/cuda/types.h"

namespace octet::models::internal {

using float8::internal::Fp8;

// `bits` are those of a non-negative f32 or NaN.
__device__ __forceinline__ float ScaleFromBits(Fp8 format, unsigned bits,
                                               bool power_of_two) {
  const float amax = __uint_as_float(bits);
  return format == Fp8::kE4M3
             ? float8::internal::ScaleFromAmax<Fp8::kE4M3>(amax, power_of_two)
             : float8::internal::ScaleFromAmax<Fp8::kE5M2>(amax, power_of_two);
}

template <Fp8 kFormat>
__device__ __forceinline__ uint2 EncodeProducts(const float (&x)[8]) {
  return {float8::internal::Encode4<kFormat>(x[0], x[1], x[2], x[3]),
          float8::internal::Encode4<kFormat>(x[4], x[5], x[6], x[7])};
}

// Element i in byte i. `scales` has one for each element, or the one of all.
__device__ __forceinline__ uint2 EncodeVector(Fp8 format, const uint4& v,
                                              const float (&scales)[8]) {
  float x[8];
  float8::internal::Unpack<__nv_bfloat16>(v, x);
#pragma unroll
  for (int i = 0; i < 8; ++i) x[i] = float8::internal::Scaled(x[i], scales[i]);
  return format == Fp8::kE4M3 ? EncodeProducts<Fp8::kE4M3>(x)
                              : EncodeProducts<Fp8::kE5M2>(x);
}
__device__ __forceinline__ uint2 EncodeVector(Fp8 format, const uint4& v,
                                              float scale) {
  return EncodeVector(format, v,
                      {scale, scale, scale, scale, scale, scale, scale, scale});
}

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_ENCODE_VECTOR_CUH_
