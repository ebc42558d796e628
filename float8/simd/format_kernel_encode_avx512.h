// SPDX-License-Identifier: Apache-2.0

// Encoding 64 elements at a time with AVX-512: about ten instructions for each
// vector of 16, of which a core starts two in a cycle.
#ifndef OCTET_FLOAT8_SIMD_FORMAT_KERNEL_ENCODE_AVX512_H_
#define OCTET_FLOAT8_SIMD_FORMAT_KERNEL_ENCODE_AVX512_H_

#if defined(__x86_64__)

#include <cstdint>

#include "base/float16.h"
#include "base/simd.h"
#include "base/simd_intrinsics.h"
#include "float8/simd/format_kernel_encoder_avx512.h"

namespace octet::float8::internal {

// Memory is asked for this far ahead: the processor's own prefetching stops at
// each page.
inline constexpr int64_t kAvx512PrefetchBytes = 1024;

OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE bool AnyNan(__m512 a, __m512 b,
                                                    __m512 c, __m512 d) {
  return !_kortestz_mask16_u8(_mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q),
                              _mm512_cmp_ps_mask(c, d, _CMP_UNORD_Q));
}

// Products of four vectors to 64 codes; false, and no codes, for a NaN.
template <typename Encoder>
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE bool EncodeInOrder(
    const Encoder& encoder, __m512 y0, __m512 y1, __m512 y2, __m512 y3,
    __m512i* codes) {
  if (__builtin_expect(AnyNan(y0, y1, y2, y3), false)) return false;
  const __m512i bytes = encoder.LowBytes(encoder.Sum(y0), encoder.Sum(y1),
                                         encoder.Sum(y2), encoder.Sum(y3));
  // Within each 128 bits, as packing leaves the signs.
  const __m512i packed = _mm512_shuffle_epi8(
      bytes, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2,
                                                  6, 10, 14, 3, 7, 11, 15)));
  const __m512i signs = _mm512_packs_epi16(
      _mm512_packs_epi32(_mm512_castps_si512(y0), _mm512_castps_si512(y1)),
      _mm512_packs_epi32(_mm512_castps_si512(y2), _mm512_castps_si512(y3)));
  *codes = _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
      encoder.WithSigns(packed, signs));
  return true;
}

OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE __m512 LoadAvx512(const float* in) {
  return _mm512_loadu_ps(in);
}
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE __m512 LoadAvx512(const Bfloat16* in) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(
      _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)in)), 16));
}
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE __m512 LoadAvx512(const Float16* in) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)in));
}

// Codes of in[0, 32) * low and in[32, 64) * high.
template <typename Encoder, typename T>
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE bool Encode64(const Encoder& encoder,
                                                      const T* in, __m512 low,
                                                      __m512 high,
                                                      __m512i* codes) {
  return EncodeInOrder(encoder, _mm512_mul_ps(LoadAvx512(in), low),
                       _mm512_mul_ps(LoadAvx512(in + 16), low),
                       _mm512_mul_ps(LoadAvx512(in + 32), high),
                       _mm512_mul_ps(LoadAvx512(in + 48), high), codes);
}
// The signs are those of the inputs: no scale is negative.
template <typename Encoder>
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE bool Encode64(const Encoder& encoder,
                                                      const Bfloat16* in,
                                                      __m512 low, __m512 high,
                                                      __m512i* codes) {
  const __m512i a = _mm512_loadu_si512(in), b = _mm512_loadu_si512(in + 32);
  const auto even_of = [](__m512i v) OCTET_TARGET_AVX512 {
    return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
  };
  const __m512 y0 = _mm512_mul_ps(even_of(a), low);
  const __m512 y1 = _mm512_mul_ps(encoder.Odd(a), low);
  const __m512 y2 = _mm512_mul_ps(even_of(b), high);
  const __m512 y3 = _mm512_mul_ps(encoder.Odd(b), high);
  if (__builtin_expect(AnyNan(y0, y1, y2, y3), false)) return false;
  const __m512i bytes = encoder.LowBytes(encoder.Sum(y0), encoder.Sum(y1),
                                         encoder.Sum(y2), encoder.Sum(y3));
  const __m512i packed = _mm512_shuffle_epi8(
      bytes, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2,
                                                  3, 6, 7, 10, 11, 14, 15)));
  *codes = _mm512_permutexvar_epi64(
      _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7),
      encoder.WithSigns(packed, _mm512_packs_epi16(a, b)));
  return true;
}

}  // namespace octet::float8::internal

#endif  // defined(__x86_64__)

#endif  // OCTET_FLOAT8_SIMD_FORMAT_KERNEL_ENCODE_AVX512_H_
