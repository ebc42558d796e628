// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "float8/simd/format_kernel.h"
#include "float8/simd/format_kernel_bits.h"
#include "float8/simd/format_kernel_decode_avx512.h"

namespace octet::float8::internal {
namespace {

OCTET_ALWAYS_INLINE void Store(float x, float* out) { *out = x; }
OCTET_ALWAYS_INLINE void Store(float x, Bfloat16* out) {
  const uint32_t u = Bits(x);
  const uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
  const bool nan = (u & kMagnitude) > kInfinity;
  out->bits = static_cast<uint16_t>(nan ? (u >> 16 | 0x40) : rounded);
}
// Selects among the three results that ToFloat16 branches to.
OCTET_ALWAYS_INLINE void Store(float x, Float16* out) {
  const uint32_t u = Bits(x);
  const uint32_t a = u & kMagnitude;
  // Adding 0.5 leaves round(|x| * 2^24) in the last bits.
  const uint32_t subnormal = Bits(FromBits(a) + 0.5f) - Bits(0.5f);
  const uint32_t normal =
      ((a + 0xfff + (a >> 13 & 1)) >> 13) - (uint32_t{112} << 10);
  uint32_t h = a < 0x38800000u ? subnormal : normal;  // 2^-14
  h = a >= 0x477ff000u ? 0x7c00 : h;  // 65520, the tie above 65504
  h = a > kInfinity ? 0x7e00 : h;
  out->bits = static_cast<uint16_t>(h | (u >> 16 & 0x8000));
}

template <typename Format>
OCTET_ALWAYS_INLINE float DecodeOne(uint8_t byte) {
  constexpr int kShift = 23 - Format::kTraits.mantissa_bits;
  constexpr int32_t kFirstNormal = 1 << Format::kTraits.mantissa_bits;
  const int32_t code = byte & 0x7f;
  const uint32_t subnormal =
      Bits(static_cast<float>(code) * Format::kTraits.smallest_subnormal);
  const uint32_t normal =
      (static_cast<uint32_t>(code - kFirstNormal) << kShift) +
      Format::kMinNormal;
  uint32_t u = code < kFirstNormal ? subnormal : normal;
  if constexpr (Format::kTraits.has_infinity) {
    u = code == Format::kTraits.overflow_code ? kInfinity : u;
  }
  u = code > Format::kTraits.overflow_code || code == 0x7f ? 0x7fc00000u : u;
  return FromBits(u | static_cast<uint32_t>(byte & 0x80) << 24);
}

template <typename T, typename Format>
OCTET_ALWAYS_INLINE void DecodeBlocks(const uint8_t* __restrict in, int64_t n,
                                      int64_t block, const float* multipliers,
                                      T* __restrict out) {
  for (int64_t begin = 0; begin < n; begin += block) {
    const float multiplier = *multipliers++;
    const int64_t end = std::min(n, begin + block);
    for (int64_t i = begin; i < end; ++i) {
      Store(DecodeOne<Format>(in[i]) * multiplier, &out[i]);
    }
  }
}

template <typename T, typename Format>
OCTET_ALWAYS_INLINE void DecodeColumns(const uint8_t* __restrict in, int64_t n,
                                       const float* __restrict multipliers,
                                       T* __restrict out) {
  for (int64_t i = 0; i < n; ++i) {
    Store(DecodeOne<Format>(in[i]) * multipliers[i], &out[i]);
  }
}

#if defined(__x86_64__)
// Whole groups of 64 codes, the first half of each times `low`; returns how
// many codes it decoded.
template <typename T, typename Format>
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE int64_t
DecodeGroups(const uint8_t* in, int64_t n, float low, float high, T* out) {
  if (!IsPlainMultiplier(low) || !IsPlainMultiplier(high)) return 0;
  const __m512 lows = _mm512_set1_ps(low * kDecodeFactor<Format>);
  const __m512 highs = _mm512_set1_ps(high * kDecodeFactor<Format>);
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    const __m512i codes = _mm512_loadu_si512(in + i);
    if (__builtin_expect(AnyNanCode<Format>(codes), false)) {
      const float multipliers[] = {low, high};
      DecodeBlocks<T, Format>(in + i, 64, 32, multipliers, out + i);
      continue;
    }
    Decode32<Format>(_mm512_castsi512_si256(codes), lows, lows, out + i);
    Decode32<Format>(_mm512_extracti64x4_epi64(codes, 1), highs, highs,
                     out + i + 32);
  }
  return i;
}

template <typename T, typename Format>
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE void DecodeBlocksAvx512(
    const uint8_t* in, int64_t n, int64_t block, const float* multipliers,
    T* out) {
  int64_t begin = 0;
  if (block == 32) {
    for (; begin + 64 <= n; begin += 64, multipliers += 2) {
      if (DecodeGroups<T, Format>(in + begin, 64, multipliers[0],
                                  multipliers[1], out + begin) == 0) {
        DecodeBlocks<T, Format>(in + begin, 64, 32, multipliers, out + begin);
      }
    }
  }
  for (; begin < n; begin += block, ++multipliers) {
    const int64_t end = std::min(n, begin + block);
    const int64_t i =
        begin + DecodeGroups<T, Format>(in + begin, end - begin, *multipliers,
                                        *multipliers, out + begin);
    DecodeBlocks<T, Format>(in + i, end - i, block, multipliers, out + i);
  }
}

template <typename T, typename Format>
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE void DecodeColumnsAvx512(
    const uint8_t* in, int64_t n, const float* multipliers, T* out) {
  const __m512 factor = _mm512_set1_ps(kDecodeFactor<Format>);
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    __m512 m[4];
    bool plain = !AnyNanCode<Format>(_mm512_loadu_si512(in + i));
    for (int j = 0; j < 4; ++j) {
      m[j] = _mm512_loadu_ps(multipliers + i + 16 * j);
      plain = plain && ArePlainMultipliers(m[j]);
      m[j] = _mm512_mul_ps(m[j], factor);
    }
    if (!plain) {
      DecodeColumns<T, Format>(in + i, 64, multipliers + i, out + i);
      continue;
    }
    const auto* const codes = reinterpret_cast<const __m256i*>(in + i);
    Decode32<Format>(_mm256_loadu_si256(codes), m[0], m[1], out + i);
    Decode32<Format>(_mm256_loadu_si256(codes + 1), m[2], m[3], out + i + 32);
  }
  DecodeColumns<T, Format>(in + i, n - i, multipliers + i, out + i);
}
#else
template <typename T, typename Format>
OCTET_ALWAYS_INLINE void DecodeBlocksAvx512(const uint8_t* in, int64_t n,
                                            int64_t block,
                                            const float* multipliers, T* out) {
  DecodeBlocks<T, Format>(in, n, block, multipliers, out);
}

template <typename T, typename Format>
OCTET_ALWAYS_INLINE void DecodeColumnsAvx512(const uint8_t* in, int64_t n,
                                             const float* multipliers, T* out) {
  DecodeColumns<T, Format>(in, n, multipliers, out);
}
#endif  // defined(__x86_64__)

// Each loop, once for each instruction set.
template <typename T, typename Format>
struct Decoders {
  static void Blocks(const uint8_t* in, int64_t n, int64_t block,
                     const float* multipliers, T* out) {
    DecodeBlocks<T, Format>(in, n, block, multipliers, out);
  }
  OCTET_TARGET_AVX2 static void BlocksAvx2(const uint8_t* in, int64_t n,
                                           int64_t block,
                                           const float* multipliers, T* out) {
    DecodeBlocks<T, Format>(in, n, block, multipliers, out);
  }
  OCTET_TARGET_AVX512 static void BlocksAvx512(const uint8_t* in, int64_t n,
                                               int64_t block,
                                               const float* multipliers,
                                               T* out) {
    DecodeBlocksAvx512<T, Format>(in, n, block, multipliers, out);
  }
  static void Columns(const uint8_t* in, int64_t n, const float* multipliers,
                      T* out) {
    DecodeColumns<T, Format>(in, n, multipliers, out);
  }
  OCTET_TARGET_AVX2 static void ColumnsAvx2(const uint8_t* in, int64_t n,
                                            const float* multipliers, T* out) {
    DecodeColumns<T, Format>(in, n, multipliers, out);
  }
  OCTET_TARGET_AVX512 static void ColumnsAvx512(const uint8_t* in, int64_t n,
                                                const float* multipliers,
                                                T* out) {
    DecodeColumnsAvx512<T, Format>(in, n, multipliers, out);
  }
  static constexpr DecodeKernels<T> kTable[kNumIsas] = {
      {&Blocks, &Columns},
      {&BlocksAvx2, &ColumnsAvx2},
      {&BlocksAvx512, &ColumnsAvx512},
  };
};

}  // namespace

template <typename T>
const DecodeKernels<T>& DecodeKernelsFor(DType format, Isa isa) {
  const int i = static_cast<int>(isa);
  return format == DType::kF8E5M2 ? Decoders<T, E5M2>::kTable[i]
                                  : Decoders<T, E4M3>::kTable[i];
}

#define OCTET_INSTANTIATE(T) \
  template const DecodeKernels<T>& DecodeKernelsFor<T>(DType, Isa)
OCTET_INSTANTIATE(float);
OCTET_INSTANTIATE(Bfloat16);
OCTET_INSTANTIATE(Float16);
#undef OCTET_INSTANTIATE

}  // namespace octet::float8::internal
