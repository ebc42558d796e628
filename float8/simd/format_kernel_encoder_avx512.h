// SPDX-License-Identifier: Apache-2.0

// What encodes 16 elements with AVX-512.
//
// A magnitude c in [2^e, 2^(e + 1)) is added to a number from a table: a power
// of two so much larger that the FPU's own rounding leaves c, to nearest even
// at the last bit that the format keeps, in the sum's last bits, where the
// number already holds what e adds to a code. Below the smallest normal, the
// smallest normal's number does the same for subnormals.
#ifndef OCTET_FLOAT8_SIMD_FORMAT_KERNEL_ENCODER_AVX512_H_
#define OCTET_FLOAT8_SIMD_FORMAT_KERNEL_ENCODER_AVX512_H_

#if defined(__x86_64__)

#include <cstdint>

#include "base/simd.h"
#include "base/simd_intrinsics.h"
#include "float8/format_traits.h"
#include "float8/simd/format_kernel_bits.h"

namespace octet::float8::internal {

template <typename Format, Overflow kMode>
class Avx512Encoder {
 public:
  OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE Avx512Encoder()
      : limit_(_mm512_castsi512_ps(
            _mm512_set1_epi32(kMode == Overflow::kSaturate
                                  ? static_cast<int>(Format::kMax)
                                  : static_cast<int>(Format::kOverflow)))),
        least_(_mm512_castsi512_ps(
            _mm512_set1_epi32(static_cast<int>(Format::kMinNormal)))) {
    // Entry i is the number for the exponent whose last five bits are i.
    alignas(64) uint32_t table[32];
    for (uint32_t i = 0; i < 32; ++i) {
      const uint32_t above = (i - (Format::kMinNormal >> 23)) & 31;
      table[i] = Format::kMinNormal + ((above + kShift) << 23) +
                 (above << Format::kTraits.mantissa_bits);
    }
    table_low_ = _mm512_load_ps(table);
    table_high_ = _mm512_load_ps(table + 16);
    // Otherwise gcc builds each constant anew in every iteration.
    asm("" : "+v"(limit_), "+v"(least_), "+v"(table_low_), "+v"(table_high_));
    asm("" : "+v"(first_byte_), "+v"(first_half_), "+v"(odd_), "+v"(sign_));
  }

  // The code of |y| in each lane's low byte; for NaN that of the limit.
  OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE __m512i Sum(__m512 y) const {
    constexpr int kMinOfMagnitudes = 2 | 2 << 2;  // and the sign cleared
    const __m512 c = _mm512_range_ps(y, limit_, kMinOfMagnitudes);
    const __m512i exponent =
        _mm512_srli_epi32(_mm512_castps_si512(_mm512_max_ps(c, least_)), 23);
    const __m512 number =
        _mm512_permutex2var_ps(table_low_, exponent, table_high_);
    return _mm512_castps_si512(_mm512_add_ps(c, number));
  }

  // The low bytes of a lane of a, b, c and d, in this order.
  OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE __m512i LowBytes(__m512i a, __m512i b,
                                                           __m512i c,
                                                           __m512i d) const {
    constexpr int kSelect = 0xca;  // where the mask is set, the second
    const __m512i ab = _mm512_ternarylogic_epi32(
        first_byte_, a, _mm512_slli_epi32(b, 8), kSelect);
    const __m512i cd = _mm512_ternarylogic_epi32(
        first_byte_, c, _mm512_slli_epi32(d, 8), kSelect);
    return _mm512_ternarylogic_epi32(first_half_, ab, _mm512_slli_epi32(cd, 16),
                                     kSelect);
  }

  OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE __m512i
  WithSigns(__m512i codes, __m512i signs) const {
    return _mm512_ternarylogic_epi32(codes, signs, sign_, 0xf8);
  }

  // The second of two bf16 in each lane, as f32.
  OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE __m512 Odd(__m512i pairs) const {
    return _mm512_castsi512_ps(_mm512_and_si512(pairs, odd_));
  }

 private:
  static constexpr uint32_t kShift = 23 - Format::kTraits.mantissa_bits;

  __m512 limit_;
  __m512 least_;
  __m512 table_low_;
  __m512 table_high_;
  __m512i first_byte_ = _mm512_set1_epi32(0xff);
  __m512i first_half_ = _mm512_set1_epi32(0xffff);
  __m512i odd_ = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  __m512i sign_ = _mm512_set1_epi8(-128);
};

}  // namespace octet::float8::internal

#endif  // defined(__x86_64__)

#endif  // OCTET_FLOAT8_SIMD_FORMAT_KERNEL_ENCODER_AVX512_H_
