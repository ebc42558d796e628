// SPDX-License-Identifier: Apache-2.0

// An AdamW step of a few elements in registers, with the CPU's bits: every
// operation is rounded by itself, in its order.
#ifndef OCTET_TRAIN_CUDA_ADAMW_MATH_CUH_
#define OCTET_TRAIN_CUDA_ADAMW_MATH_CUH_

#include <cstdint>

#include "float8/cuda/encode.cuh"
#include "train/cuda/adamw_kernel.h"
#include "train/cuda/rounding.cuh"

namespace octet::train::internal {

struct Numbers {
  AdamWNumbers adamw;
  float reciprocal_bias2;  // 1 / sqrt_bias2
  bool is_usual;           // see UsualRatio
  PhiloxKeys keys;
};

// The new moments.
__device__ __forceinline__ void UpdateMoments(const AdamWNumbers& s,
                                              float gradient, float* m,
                                              float* v) {
  const float g = __fmul_rn(gradient, s.gradient_scale);
  *m = __fadd_rn(*m, __fmul_rn(s.one_minus_beta1, __fsub_rn(g, *m)));
  *v = __fadd_rn(__fmul_rn(s.beta2, *v),
                 __fmul_rn(__fmul_rn(s.one_minus_beta2, g), g));
}

// m / (sqrt(v) / sqrt_bias2 + eps), each operation correctly rounded.
__device__ __forceinline__ float Ratio(const AdamWNumbers& s, float m,
                                       float v) {
  return __fdiv_rn(m, __fadd_rn(__fdiv_rn(__fsqrt_rn(v), s.sqrt_bias2), s.eps));
}

// Where nothing comes near the ends of f32's range, the same needs no cases:
// the products below are Newton's steps, whose remainders are exact, with the
// rounded reciprocal of sqrt_bias2 at hand. 0 is in range for both; the
// quotient has m's sign, also that of a zero.
inline constexpr float kLeastM = 0x1p-95f, kMostM = 0x1p60f;
inline constexpr float kLeastV = 0x1p-100f, kMostV = 0x1p40f;
inline bool IsUsual(const AdamWNumbers& s) {
  return s.eps >= 0x1p-60f && s.eps <= 0x1p20f && s.sqrt_bias2 >= 0x1p-10f &&
         s.sqrt_bias2 <= 1.0f;
}
__device__ __forceinline__ float UsualRatio(const Numbers& n, float m,
                                            float v) {
  float inverse;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(fmaxf(v, kLeastV)));
  const float near_root = __fmul_rn(v, inverse);
  const float root = __fmaf_rn(__fmaf_rn(-near_root, near_root, v),
                               __fmul_rn(inverse, 0.5f), near_root);
  const float near_unbiased = __fmul_rn(root, n.reciprocal_bias2);
  const float unbiased =
      __fmaf_rn(__fmaf_rn(-near_unbiased, n.adamw.sqrt_bias2, root),
                n.reciprocal_bias2, near_unbiased);
  const float d = __fadd_rn(unbiased, n.adamw.eps);
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
  r = __fmaf_rn(__fmaf_rn(-d, r, 1.0f), r, r);
  float q = __fmul_rn(m, r);
  q = __fmaf_rn(__fmaf_rn(-d, q, m), r, q);
  q = __fmaf_rn(__fmaf_rn(-d, q, m), r, q);
  return __uint_as_float(__float_as_uint(q) |
                         (__float_as_uint(m) & 0x80000000u));
}

// The least and the largest of bits; those of 0 are not below any.
struct Range {
  unsigned least = 0xffffffffu;
  unsigned most = 0;
};
__device__ __forceinline__ void Widen(Range* range, unsigned bits) {
  range->least = min(range->least, bits - 1);
  range->most = max(range->most, bits);
}
__device__ __forceinline__ bool IsWithin(const Range& range, float least,
                                         float most) {
  return range.least >= __float_as_uint(least) - 1 &&
         range.most <= __float_as_uint(most);
}

__device__ __forceinline__ float NewMaster(const AdamWNumbers& s, float master,
                                           float ratio) {
  return __fsub_rn(__fmul_rn(master, s.decay), __fmul_rn(s.step_size, ratio));
}

// New moments and masters in place.
template <int kPer>
__device__ __forceinline__ void UpdateValues(const Numbers& n,
                                             const float (&gradient)[kPer],
                                             float (&master)[kPer],
                                             float (&m)[kPer],
                                             float (&v)[kPer]) {
  Range of_m, of_v;
#pragma unroll
  for (int k = 0; k < kPer; ++k) {
    UpdateMoments(n.adamw, gradient[k], &m[k], &v[k]);
    Widen(&of_m, float8::internal::AbsBits(m[k]));
    Widen(&of_v, __float_as_uint(v[k]));  // a sign is out of range
  }
  if (n.is_usual && IsWithin(of_m, kLeastM, kMostM) &&
      IsWithin(of_v, kLeastV, kMostV)) {
#pragma unroll
    for (int k = 0; k < kPer; ++k) {
      master[k] = NewMaster(n.adamw, master[k], UsualRatio(n, m[k], v[k]));
    }
  } else {
#pragma unroll
    for (int k = 0; k < kPer; ++k) {
      master[k] = NewMaster(n.adamw, master[k], Ratio(n.adamw, m[k], v[k]));
      m[k] = PlainNan(m[k]);
      v[k] = PlainNan(v[k]);
    }
  }
#pragma unroll
  for (int k = 0; k < kPer; ++k) master[k] = PlainNan(master[k]);
}

}  // namespace octet::train::internal

#endif  // OCTET_TRAIN_CUDA_ADAMW_MATH_CUH_
