// SPDX-License-Identifier: Apache-2.0

// Decoding 64 codes at a time with AVX-512: shifted into the place of f16's
// exponent and mantissa, a code of either format is a number of f16, whose
// conversion to f32 is exact; E4M3's is then 2^8 times too small.
#ifndef OCTET_FLOAT8_SIMD_FORMAT_KERNEL_DECODE_AVX512_H_
#define OCTET_FLOAT8_SIMD_FORMAT_KERNEL_DECODE_AVX512_H_

#if defined(__x86_64__)

#include <cstdint>

#include "base/float16.h"
#include "base/simd.h"
#include "base/simd_intrinsics.h"
#include "float8/format_traits.h"
#include "float8/simd/format_kernel_bits.h"

namespace octet::float8::internal {

// By which the multiplier makes up for the shift.
template <typename Format>
inline constexpr float kDecodeFactor =
    Format::kTraits.has_infinity ? 1.0f : 256.0f;

// Whether one of 64 codes is a NaN.
template <typename Format>
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE bool AnyNanCode(__m512i codes) {
  constexpr int kLast = Format::kTraits.has_infinity ? 0x7c : 0x7e;
  const __m512i magnitudes = _mm512_and_si512(codes, _mm512_set1_epi8(0x7f));
  return _mm512_cmpgt_epu8_mask(magnitudes, _mm512_set1_epi8(kLast)) != 0;
}

// 32 codes as f16, for E4M3 2^8 times too small.
template <typename Format>
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE __m512i HalvesOf(__m256i codes) {
  if constexpr (Format::kTraits.has_infinity) {
    return _mm512_slli_epi16(_mm512_cvtepu8_epi16(codes), 8);
  } else {
    const __m512i extended = _mm512_slli_epi16(_mm512_cvtepi8_epi16(codes), 7);
    return _mm512_and_si512(extended,
                            _mm512_set1_epi16(static_cast<int16_t>(0xbf80)));
  }
}

OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE __m512i RoundToBf16(__m512 x) {
  const __m512i u = _mm512_castps_si512(x);
  const __m512i last =
      _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
  return _mm512_srli_epi32(
      _mm512_add_epi32(_mm512_add_epi32(u, last), _mm512_set1_epi32(0x7fff)),
      16);
}

// 32 numbers, none a NaN.
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE void Store32(__m512 a, __m512 b,
                                                     float* out) {
  _mm512_storeu_ps(out, a);
  _mm512_storeu_ps(out + 16, b);
}
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE void Store32(__m512 a, __m512 b,
                                                     Bfloat16* out) {
  const __m512i packed = _mm512_packus_epi32(RoundToBf16(a), RoundToBf16(b));
  _mm512_storeu_si512(
      out, _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7),
                                    packed));
}
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE void Store32(__m512 a, __m512 b,
                                                     Float16* out) {
  _mm256_storeu_si256((__m256i*)out, _mm512_cvtps_ph(a, 0));
  _mm256_storeu_si256((__m256i*)(out + 16), _mm512_cvtps_ph(b, 0));
}

// out[0, 32) = codes * (a, b), where neither has a NaN or infinity.
template <typename Format, typename T>
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE void Decode32(__m256i codes, __m512 a,
                                                      __m512 b, T* out) {
  const __m512i halves = HalvesOf<Format>(codes);
  Store32(
      _mm512_mul_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(halves)), a),
      _mm512_mul_ps(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1)), b),
      out);
}

// Multipliers whose product with kDecodeFactor is exact, and times infinity is
// not a NaN.
OCTET_ALWAYS_INLINE bool IsPlainMultiplier(float multiplier) {
  const uint32_t magnitude = Bits(multiplier) & kMagnitude;
  return magnitude >= 0x00800000u && magnitude < 0x7b000000u;  // 2^119
}
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE bool ArePlainMultipliers(__m512 v) {
  const __m512i magnitude = _mm512_and_si512(
      _mm512_castps_si512(v), _mm512_set1_epi32(static_cast<int>(kMagnitude)));
  const __m512i above =
      _mm512_sub_epi32(magnitude, _mm512_set1_epi32(0x00800000));
  return _mm512_cmpge_epu32_mask(
             above, _mm512_set1_epi32(0x7b000000 - 0x00800000)) == 0;
}

}  // namespace octet::float8::internal

#endif  // defined(__x86_64__)

#endif  // OCTET_FLOAT8_SIMD_FORMAT_KERNEL_DECODE_AVX512_H_
