// SPDX-License-Identifier: Apache-2.0

// What amax and cast kernels are made of: loads, amax, scales, encoding. Each
// gives the bits that the CPU gives (a NaN is as good as another).
//
// Magnitudes are compared as integers: the order of non-negative floats is that
// of their bits, and every NaN lies above infinity, so a maximum keeps NaN and
// does not depend on its order. No multiplication here may be contracted into a
// multiply-add, which would round once where the formula rounds twice.
#ifndef OCTET_FLOAT8_CUDA_ENCODE_CUH_
#define OCTET_FLOAT8_CUDA_ENCODE_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "float8/cuda/types.h"

namespace octet::float8::internal {

inline constexpr unsigned kFullWarp = 0xffffffffu;

// Of a kernel launched by LaunchDependent: waits until the work before it on
// the stream is done and visible, then lets the next such kernel take the
// places that this one's last blocks leave.
__device__ __forceinline__ void AwaitPredecessor() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Elements of T = float, __nv_bfloat16 or __half in a 16-byte load.
template <typename T>
inline constexpr int kPerVector = 16 / static_cast<int>(sizeof(T));

// 16 aligned bytes that this kernel does not write and reads once.
__device__ __forceinline__ uint4 LoadVector(const void* from) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}

__device__ __forceinline__ float ToFloat(float x) { return x; }
__device__ __forceinline__ float ToFloat(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
__device__ __forceinline__ float ToFloat(__half x) { return __half2float(x); }

// The element(s) of T in a 32-bit word, in memory's order.
template <typename T>
__device__ __forceinline__ void UnpackWord(uint32_t word, float* out);
template <>
__device__ __forceinline__ void UnpackWord<float>(uint32_t word, float* out) {
  out[0] = __uint_as_float(word);
}
template <>
__device__ __forceinline__ void UnpackWord<__nv_bfloat16>(uint32_t word,
                                                          float* out) {
  out[0] = __uint_as_float(word << 16);
  out[1] = __uint_as_float(word & 0xffff0000u);
}
template <>
__device__ __forceinline__ void UnpackWord<__half>(uint32_t word, float* out) {
  const float2 both = __half22float2(*reinterpret_cast<const __half2*>(&word));
  out[0] = both.x;
  out[1] = both.y;
}

template <typename T>
__device__ __forceinline__ void Unpack(const uint4& v,
                                       float (&out)[kPerVector<T>]) {
  constexpr int kPerWord = kPerVector<T> / 4;
  UnpackWord<T>(v.x, out);
  UnpackWord<T>(v.y, out + kPerWord);
  UnpackWord<T>(v.z, out + 2 * kPerWord);
  UnpackWord<T>(v.w, out + 3 * kPerWord);
}

__device__ __forceinline__ unsigned AbsBits(float x) {
  return __float_as_uint(x) & 0x7fffffffu;
}

// Maxima of magnitudes in T's own bits: a word has two lanes for 16-bit types.
// 0 is the neutral element.
template <typename T>
__device__ __forceinline__ uint32_t AbsWord(uint32_t word) {
  return word & (sizeof(T) == 4 ? 0x7fffffffu : 0x7fff7fffu);
}
template <typename T>
__device__ __forceinline__ uint32_t MaxWord(uint32_t a, uint32_t b) {
  if constexpr (sizeof(T) == 4) {
    return max(a, b);
  } else {
    return __vmaxu2(a, b);
  }
}
// The magnitude in one lane, as the bits of the f32 of that value.
template <typename T>
__device__ __forceinline__ unsigned LaneBits(uint32_t word, int lane) {
  if constexpr (sizeof(T) == 4) {
    return word;
  } else {
    const auto bits =
        static_cast<unsigned short>(lane == 0 ? word & 0xffffu : word >> 16);
    return AbsBits(ToFloat(*reinterpret_cast<const T*>(&bits)));
  }
}
// The larger of a word's lanes, as the bits of an f32.
template <typename T>
__device__ __forceinline__ unsigned WordBits(uint32_t word) {
  if constexpr (sizeof(T) == 4) {
    return word;
  } else {
    return LaneBits<T>(max(word & 0xffffu, word >> 16), 0);
  }
}
template <typename T>
__device__ __forceinline__ uint32_t AbsMaxOfVector(const uint4& v) {
  return MaxWord<T>(MaxWord<T>(AbsWord<T>(v.x), AbsWord<T>(v.y)),
                    MaxWord<T>(AbsWord<T>(v.z), AbsWord<T>(v.w)));
}

// Of bits of magnitudes, over all lanes of a full warp; every lane gets it.
__device__ __forceinline__ unsigned WarpMax(unsigned bits) {
  return __reduce_max_sync(kFullWarp, bits);
}

// The same over a block of whole warps; every thread gets it. `shared` has 32
// elements and must not be in use; all threads call.
__device__ __forceinline__ unsigned BlockMax(unsigned bits, unsigned* shared) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  bits = WarpMax(bits);
  if (lane == 0) shared[warp] = bits;
  __syncthreads();
  return WarpMax(lane < blockDim.x / 32 ? shared[lane] : 0u);
}

// `amax` holds the bits of a non-negative float or NaN.
__device__ __forceinline__ void AtomicMax(float* amax, unsigned bits) {
  atomicMax(reinterpret_cast<unsigned*>(amax), bits);
}

template <Fp8 kFormat>
inline constexpr float kFp8Max = kFormat == Fp8::kE4M3 ? 448.0f : 57344.0f;

// ScaleFor(amax, format, pow2 or exact) of scaling.h, which divides in double
// and rounds to f32. A double has more than twice an f32's bits, so a quotient
// of two f32 that is rounded to double first and to f32 then is the f32
// quotient: one f32 division does. The floor of 1e-12 lies between 1e-12f and
// the next float.
template <Fp8 kFormat>
__device__ __forceinline__ float ScaleFromAmax(float amax, bool power_of_two) {
  constexpr float kFloorScale =
      static_cast<float>(static_cast<double>(kFp8Max<kFormat>) / 1e-12);
  if (isnan(amax)) return amax;
  const float scale =
      amax > 1e-12f ? __fdiv_rn(kFp8Max<kFormat>, amax) : kFloorScale;
  return power_of_two ? __uint_as_float(__float_as_uint(scale) & 0x7f800000u)
                      : scale;
}

// What the GEMM multiplies by: 1.0f / scale, correctly rounded.
__device__ __forceinline__ float Reciprocal(float scale) {
  return __frcp_rn(scale);
}

// The one multiplication of the formula.
__device__ __forceinline__ float Scaled(float x, float scale) {
  return __fmul_rn(x, scale);
}

// Saturate, round to nearest even, NaN to 0x7f; the first value becomes the
// lowest byte.
template <Fp8 kFormat>
__device__ __forceinline__ uint32_t Encode2(float a, float b) {
  uint16_t two;
  if constexpr (kFormat == Fp8::kE4M3) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(two) : "f"(b), "f"(a));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(two) : "f"(b), "f"(a));
  }
  return two;
}
template <Fp8 kFormat>
__device__ __forceinline__ uint32_t Encode4(float a, float b, float c,
                                            float d) {
  return Encode2<kFormat>(a, b) | Encode2<kFormat>(c, d) << 16;
}
template <Fp8 kFormat>
__device__ __forceinline__ uint8_t Encode1(float x) {
  return static_cast<uint8_t>(Encode2<kFormat>(x, 0.0f));
}

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_ENCODE_CUH_
