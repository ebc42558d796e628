// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/simd_intrinsics.h"
#include "float8/simd/format_kernel.h"
#include "float8/simd/format_kernel_bits.h"

namespace octet::float8::internal {
namespace {

// Magnitudes are compared as integers in the input's own type: their order is
// that of the values, with infinity and then NaN on top.
OCTET_ALWAYS_INLINE uint32_t Magnitude(float x) { return Bits(x) & kMagnitude; }
OCTET_ALWAYS_INLINE uint16_t Magnitude(Bfloat16 x) { return x.bits & 0x7fff; }
OCTET_ALWAYS_INLINE uint16_t Magnitude(Float16 x) { return x.bits & 0x7fff; }

OCTET_ALWAYS_INLINE float OfMagnitude(uint32_t m, float) { return FromBits(m); }
OCTET_ALWAYS_INLINE float OfMagnitude(uint32_t m, Bfloat16) {
  return FromBits(m << 16);
}
OCTET_ALWAYS_INLINE float OfMagnitude(uint32_t m, Float16) {
  return Load(Float16{static_cast<uint16_t>(m)});
}

// The larger of two amax values; every NaN becomes the same one.
OCTET_ALWAYS_INLINE float MaxOf(float a, float b) {
  const uint32_t m = std::max(Bits(a), Bits(b));
  return FromBits(m > kInfinity ? 0x7fc00000u : m);
}

template <typename T>
OCTET_ALWAYS_INLINE void AmaxBlocks(const T* __restrict in, int64_t n,
                                    int64_t block, float* __restrict amax) {
  using Unsigned = decltype(Magnitude(T{}));
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t end = std::min(n, begin + block);
    Unsigned largest = 0;
    for (int64_t i = begin; i < end; ++i) {
      const Unsigned m = Magnitude(in[i]);
      largest = m > largest ? m : largest;
    }
    *amax = MaxOf(*amax, OfMagnitude(largest, T{}));
    ++amax;
  }
}

template <typename T>
OCTET_ALWAYS_INLINE void AmaxColumns(const T* __restrict in, int64_t n,
                                     float* __restrict amax) {
  for (int64_t i = 0; i < n; ++i) {
    amax[i] = MaxOf(amax[i], FromBits(Bits(Load(in[i])) & kMagnitude));
  }
}

#if defined(__x86_64__)
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE __m512i LargestOf(__m512i a, __m512i b,
                                                          uint32_t) {
  return _mm512_max_epu32(a, b);
}
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE __m512i LargestOf(__m512i a, __m512i b,
                                                          uint16_t) {
  return _mm512_max_epu16(a, b);
}

// The largest of a vector's elements.
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE uint32_t Reduce(__m512i v, uint32_t) {
  const __m256i half = _mm256_max_epu32(_mm512_castsi512_si256(v),
                                        _mm512_extracti64x4_epi64(v, 1));
  __m128i m = _mm_max_epu32(_mm256_castsi256_si128(half),
                            _mm256_extracti128_si256(half, 1));
  m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
  m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(m));
}
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE uint16_t Reduce(__m512i v, uint16_t) {
  const __m256i half = _mm256_max_epu16(_mm512_castsi512_si256(v),
                                        _mm512_extracti64x4_epi64(v, 1));
  const __m128i m = _mm_max_epu16(_mm256_castsi256_si128(half),
                                  _mm256_extracti128_si256(half, 1));
  const __m128i all = _mm_set1_epi16(-1);
  const __m128i least = _mm_minpos_epu16(_mm_xor_si128(m, all));
  return static_cast<uint16_t>(~_mm_cvtsi128_si32(least));
}

// A compiler's own reduction of a short block takes longer than its elements.
template <typename T>
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE void AmaxBlocksAvx512(const T* in,
                                                              int64_t n,
                                                              int64_t block,
                                                              float* amax) {
  using Unsigned = decltype(Magnitude(T{}));
  constexpr int64_t kLanes = 64 / sizeof(T);
  int64_t begin = 0;
  if (block <= 256 && block % kLanes == 0) {
    const __m512i magnitude =
        sizeof(T) == 4 ? _mm512_set1_epi32(static_cast<int>(kMagnitude))
                       : _mm512_set1_epi16(0x7fff);
    for (; begin + block <= n; begin += block) {
      __m512i largest = _mm512_setzero_si512();
      for (int64_t i = begin; i < begin + block; i += kLanes) {
        largest = LargestOf(
            largest, _mm512_and_si512(_mm512_loadu_si512(in + i), magnitude),
            Unsigned{});
      }
      *amax = MaxOf(*amax, OfMagnitude(Reduce(largest, Unsigned{}), T{}));
      ++amax;
    }
  }
  AmaxBlocks<T>(in + begin, n - begin, block, amax);
}
#else
template <typename T>
OCTET_ALWAYS_INLINE void AmaxBlocksAvx512(const T* in, int64_t n, int64_t block,
                                          float* amax) {
  AmaxBlocks<T>(in, n, block, amax);
}
#endif  // defined(__x86_64__)

// Each loop, once for each instruction set.
template <typename T>
struct Amaxes {
  static void Blocks(const T* in, int64_t n, int64_t block, float* amax) {
    AmaxBlocks<T>(in, n, block, amax);
  }
  OCTET_TARGET_AVX2 static void BlocksAvx2(const T* in, int64_t n,
                                           int64_t block, float* amax) {
    AmaxBlocks<T>(in, n, block, amax);
  }
  OCTET_TARGET_AVX512 static void BlocksAvx512(const T* in, int64_t n,
                                               int64_t block, float* amax) {
    AmaxBlocksAvx512<T>(in, n, block, amax);
  }
  static void Columns(const T* in, int64_t n, float* amax) {
    AmaxColumns<T>(in, n, amax);
  }
  OCTET_TARGET_AVX2 static void ColumnsAvx2(const T* in, int64_t n,
                                            float* amax) {
    AmaxColumns<T>(in, n, amax);
  }
  OCTET_TARGET_AVX512 static void ColumnsAvx512(const T* in, int64_t n,
                                                float* amax) {
    AmaxColumns<T>(in, n, amax);
  }
  static constexpr AmaxKernels<T> kTable[kNumIsas] = {
      {&Blocks, &Columns},
      {&BlocksAvx2, &ColumnsAvx2},
      {&BlocksAvx512, &ColumnsAvx512},
  };
};

}  // namespace

template <typename T>
const AmaxKernels<T>& AmaxKernelsFor(Isa isa) {
  return Amaxes<T>::kTable[static_cast<int>(isa)];
}

#define OCTET_INSTANTIATE(T) \
  template const AmaxKernels<T>& AmaxKernelsFor<T>(Isa)
OCTET_INSTANTIATE(float);
OCTET_INSTANTIATE(Bfloat16);
OCTET_INSTANTIATE(Float16);
#undef OCTET_INSTANTIATE

}  // namespace octet::float8::internal
