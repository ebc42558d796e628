// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>

#include "float8/simd/format_kernel.h"
#include "float8/simd/format_kernel_bits.h"
#include "float8/simd/format_kernel_encode_avx512.h"
#include "float8/simd/format_kernel_encoder_avx512.h"

namespace octet::float8::internal {
namespace {

// Adding 2^(23 - mantissa bits) times x's power of two (at least the smallest
// normal's) makes the FPU's own addition round x to nearest even at the last
// bit that the format keeps; that bit then is the sum's last one.
template <typename Format, Overflow kMode>
OCTET_ALWAYS_INLINE uint8_t EncodeOne(float x) {
  constexpr int kShift = 23 - Format::kTraits.mantissa_bits;
  constexpr uint32_t kLimit =
      kMode == Overflow::kSaturate ? Format::kMax : Format::kOverflow;
  const uint32_t u = Bits(x);
  const uint32_t magnitude = u & kMagnitude;
  const uint32_t a = magnitude < kLimit ? magnitude : kLimit;
  uint32_t power = a & kInfinity;
  power = power > Format::kMinNormal ? power : Format::kMinNormal;
  const uint32_t magic = power + (static_cast<uint32_t>(kShift) << 23);
  const uint32_t sum = Bits(FromBits(a) + FromBits(magic));
  uint32_t code = (sum - magic) + ((power - Format::kMinNormal) >> kShift);
  code |= u >> 24 & 0x80;
  return static_cast<uint8_t>(magnitude > kInfinity ? 0x7f : code);
}

// The same on a vector of kBytes, of whatever the compiler makes of it.
template <int kBytes>
struct Lanes {
  static constexpr int kFloats = kBytes / 4;
  typedef uint32_t U32 __attribute__((vector_size(kBytes)));
  typedef float F32 __attribute__((vector_size(kBytes)));
  typedef uint16_t U16 __attribute__((vector_size(kBytes)));
  typedef uint8_t U8 __attribute__((vector_size(kBytes)));
};

// Lane j holds parts of element j of several vectors; gives all parts of the
// first vector, then those of the next.
template <typename V, size_t... kIndex>
OCTET_ALWAYS_INLINE V Gather(V v, std::index_sequence<kIndex...>) {
  constexpr size_t kParts = 4 / sizeof(v[0]);
  constexpr size_t kLanes = sizeof...(kIndex) / kParts;
  return __builtin_shufflevector(
      v, v, (kIndex % kLanes * kParts + kIndex / kLanes)...);
}

template <typename V>
OCTET_ALWAYS_INLINE V LoadVector(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

// The code in the low byte of each lane, the other bytes zero.
template <int kBytes, typename Format, Overflow kMode>
OCTET_ALWAYS_INLINE typename Lanes<kBytes>::U32 EncodeLanes(
    typename Lanes<kBytes>::F32 x) {
  using U32 = typename Lanes<kBytes>::U32;
  using F32 = typename Lanes<kBytes>::F32;
  constexpr int kShift = 23 - Format::kTraits.mantissa_bits;
  constexpr uint32_t kMagic = static_cast<uint32_t>(kShift) << 23;
  constexpr uint32_t kLimit =
      kMode == Overflow::kSaturate ? Format::kMax : Format::kOverflow;
  // What the exponent of a sum with the least power adds to a code.
  constexpr uint32_t kOffset = (Format::kMinNormal + kMagic) >> kShift;
  const U32 u = (U32)x;
  const U32 magnitude = u & kMagnitude;
  const U32 limit = U32{} + kLimit;
  const U32 a = magnitude > limit ? limit : magnitude;
  const U32 least = U32{} + Format::kMinNormal;
  U32 power = a & kInfinity;
  power = power > least ? power : least;
  const U32 sum = (U32)((F32)a + (F32)(power + kMagic));
  // The sum's last bits are few, so its exponent can be added in place.
  const U32 code = sum + (sum >> kShift) - kOffset;
  const U32 with_sign = (code & 0x7f) | (u >> 24 & 0x80);
  return magnitude > kInfinity ? U32{} + 0x7f : with_sign;
}

// Two 16-bit elements in each 32-bit lane: `top` leaves one of them on top.
template <int kBytes>
OCTET_ALWAYS_INLINE typename Lanes<kBytes>::F32 FromTop(
    typename Lanes<kBytes>::U32 top, Bfloat16) {
  return (typename Lanes<kBytes>::F32)top;
}
template <int kBytes>
OCTET_ALWAYS_INLINE typename Lanes<kBytes>::F32 FromTop(
    typename Lanes<kBytes>::U32 top, Float16) {
  using U32 = typename Lanes<kBytes>::U32;
  using F32 = typename Lanes<kBytes>::F32;
  const U32 shifted = (top & 0x7fff0000u) >> 3;
  const U32 normal = shifted + (112u << 23);
  const U32 subnormal = (U32)((F32)(shifted + (113u << 23)) - 0x1p-14f);
  U32 u = shifted < (1u << 23) ? subnormal : normal;
  u = shifted >= (31u << 23) ? shifted | kInfinity : u;
  return (F32)(u | (top & 0x80000000u));
}

// Memory is asked for this far ahead: the processor's own prefetching stops at
// each page.
constexpr int64_t kPrefetchBytes = 1024;

// Both write a vector of codes at a time and return how many elements they did.
template <int kBytes, typename Format, Overflow kMode>
OCTET_ALWAYS_INLINE int64_t EncodeVectors(const float* in, int64_t n,
                                          float scale, uint8_t* out) {
  using L = Lanes<kBytes>;
  int64_t i = 0;
  for (; i + kBytes <= n; i += kBytes) {
    typename L::U32 codes = {};
    for (int part = 0; part < 4; ++part) {
      const float* from = in + i + part * L::kFloats;
      __builtin_prefetch(from + kPrefetchBytes / 4);
      codes |= EncodeLanes<kBytes, Format, kMode>(
                   LoadVector<typename L::F32>(from) * scale)
               << 8 * part;
    }
    const auto bytes =
        Gather((typename L::U8)codes, std::make_index_sequence<kBytes>());
    std::memcpy(out + i, &bytes, kBytes);
  }
  return i;
}

template <int kBytes, typename Format, Overflow kMode, typename T>
OCTET_ALWAYS_INLINE int64_t EncodeVectors(const T* in, int64_t n, float scale,
                                          uint8_t* out) {
  using L = Lanes<kBytes>;
  int64_t i = 0;
  for (; i + kBytes <= n; i += kBytes) {
    typename L::U32 codes = {};
    for (int part = 0; part < 2; ++part) {
      const T* from = in + i + part * 2 * L::kFloats;
      __builtin_prefetch(from + kPrefetchBytes / 2);
      const auto pairs = LoadVector<typename L::U32>(from);
      const auto low = EncodeLanes<kBytes, Format, kMode>(
          FromTop<kBytes>(pairs << 16, T{}) * scale);
      const auto high = EncodeLanes<kBytes, Format, kMode>(
          FromTop<kBytes>(pairs & 0xffff0000u, T{}) * scale);
      codes |= (low | high << 8) << 16 * part;
    }
    const auto halves =
        Gather((typename L::U16)codes, std::make_index_sequence<kBytes / 2>());
    std::memcpy(out + i, &halves, kBytes);
  }
  return i;
}

// kBytes is 0 for one element at a time.
template <int kBytes, typename T, typename Format, Overflow kMode>
OCTET_ALWAYS_INLINE void EncodeBlocks(const T* __restrict in, int64_t n,
                                      int64_t block, const float* scales,
                                      uint8_t* __restrict out) {
  for (int64_t begin = 0; begin < n; begin += block) {
    const float scale = *scales++;
    const int64_t end = std::min(n, begin + block);
    int64_t i = begin;
    if constexpr (kBytes > 0) {
      i +=
          EncodeVectors<kBytes, Format, kMode>(in + i, end - i, scale, out + i);
    }
    for (; i < end; ++i) {
      out[i] = EncodeOne<Format, kMode>(Load(in[i]) * scale);
    }
  }
}

template <typename T, typename Format, Overflow kMode>
OCTET_ALWAYS_INLINE void EncodeColumns(const T* __restrict in, int64_t n,
                                       const float* __restrict scales,
                                       uint8_t* __restrict out) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = EncodeOne<Format, kMode>(Load(in[i]) * scales[i]);
  }
}

#if defined(__x86_64__)
// Whether a product has the sign of what the scale multiplies.
OCTET_ALWAYS_INLINE bool KeepsSign(float scale) {
  return Bits(scale) < 0x80000000u;
}

// Whole groups of 64 elements, the first half of each times `low`; returns how
// many elements it encoded.
template <typename T, typename Format, Overflow kMode>
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE int64_t
EncodeGroups(const Avx512Encoder<Format, kMode>& encoder, const T* in,
             int64_t n, float low, float high, uint8_t* out) {
  if (!KeepsSign(low) || !KeepsSign(high)) return 0;
  const __m512 lows = _mm512_set1_ps(low), highs = _mm512_set1_ps(high);
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    for (size_t line = 0; line < sizeof(T); ++line) {
      __builtin_prefetch(reinterpret_cast<const char*>(in + i) +
                         kAvx512PrefetchBytes + 64 * line);
    }
    __m512i codes;
    if (Encode64(encoder, in + i, lows, highs, &codes)) {
      _mm512_storeu_si512(out + i, codes);
    } else {
      for (int64_t j = i; j < i + 64; ++j) {
        const float scale = j < i + 32 ? low : high;
        out[j] = EncodeOne<Format, kMode>(Load(in[j]) * scale);
      }
    }
  }
  return i;
}

template <typename T, typename Format, Overflow kMode>
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE void EncodeBlocksAvx512(
    const T* in, int64_t n, int64_t block, const float* scales, uint8_t* out) {
  const Avx512Encoder<Format, kMode> encoder;
  int64_t begin = 0;
  if (block == 32) {
    for (; begin + 64 <= n; begin += 64) {
      if (EncodeGroups(encoder, in + begin, 64, scales[0], scales[1],
                       out + begin) == 0) {
        EncodeBlocks<32, T, Format, kMode>(in + begin, 64, 32, scales,
                                           out + begin);
      }
      scales += 2;
    }
  }
  for (; begin < n; begin += block) {
    const float* const scale = scales++;
    const int64_t end = std::min(n, begin + block);
    const int64_t i = begin + EncodeGroups(encoder, in + begin, end - begin,
                                           *scale, *scale, out + begin);
    EncodeBlocks<32, T, Format, kMode>(in + i, end - i, block, scale, out + i);
  }
}

template <typename T, typename Format, Overflow kMode>
OCTET_TARGET_AVX512 OCTET_ALWAYS_INLINE void EncodeColumnsAvx512(
    const T* in, int64_t n, const float* scales, uint8_t* out) {
  const Avx512Encoder<Format, kMode> encoder;
  const auto product = [&](int64_t i) OCTET_TARGET_AVX512 {
    return _mm512_mul_ps(LoadAvx512(in + i), _mm512_loadu_ps(scales + i));
  };
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    __m512i codes;
    if (EncodeInOrder(encoder, product(i), product(i + 16), product(i + 32),
                      product(i + 48), &codes)) {
      _mm512_storeu_si512(out + i, codes);
    } else {
      EncodeColumns<T, Format, kMode>(in + i, 64, scales + i, out + i);
    }
  }
  EncodeColumns<T, Format, kMode>(in + i, n - i, scales + i, out + i);
}
#else
template <typename T, typename Format, Overflow kMode>
OCTET_ALWAYS_INLINE void EncodeBlocksAvx512(const T* in, int64_t n,
                                            int64_t block, const float* scales,
                                            uint8_t* out) {
  EncodeBlocks<0, T, Format, kMode>(in, n, block, scales, out);
}

template <typename T, typename Format, Overflow kMode>
OCTET_ALWAYS_INLINE void EncodeColumnsAvx512(const T* in, int64_t n,
                                             const float* scales,
                                             uint8_t* out) {
  EncodeColumns<T, Format, kMode>(in, n, scales, out);
}
#endif  // defined(__x86_64__)

// Each loop, once for each instruction set.
template <typename T, typename Format, Overflow kMode>
struct Encoders {
  static void Blocks(const T* in, int64_t n, int64_t block, const float* scales,
                     uint8_t* out) {
    EncodeBlocks<0, T, Format, kMode>(in, n, block, scales, out);
  }
  OCTET_TARGET_AVX2 static void BlocksAvx2(const T* in, int64_t n,
                                           int64_t block, const float* scales,
                                           uint8_t* out) {
    EncodeBlocks<32, T, Format, kMode>(in, n, block, scales, out);
  }
  OCTET_TARGET_AVX512 static void BlocksAvx512(const T* in, int64_t n,
                                               int64_t block,
                                               const float* scales,
                                               uint8_t* out) {
    EncodeBlocksAvx512<T, Format, kMode>(in, n, block, scales, out);
  }
  static void Columns(const T* in, int64_t n, const float* scales,
                      uint8_t* out) {
    EncodeColumns<T, Format, kMode>(in, n, scales, out);
  }
  OCTET_TARGET_AVX2 static void ColumnsAvx2(const T* in, int64_t n,
                                            const float* scales, uint8_t* out) {
    EncodeColumns<T, Format, kMode>(in, n, scales, out);
  }
  OCTET_TARGET_AVX512 static void ColumnsAvx512(const T* in, int64_t n,
                                                const float* scales,
                                                uint8_t* out) {
    EncodeColumnsAvx512<T, Format, kMode>(in, n, scales, out);
  }
  static constexpr EncodeKernels<T> kTable[kNumIsas] = {
      {&Blocks, &Columns},
      {&BlocksAvx2, &ColumnsAvx2},
      {&BlocksAvx512, &ColumnsAvx512},
  };
};

}  // namespace

template <typename T>
const EncodeKernels<T>& EncodeKernelsFor(DType format, Overflow overflow,
                                         Isa isa) {
  const int i = static_cast<int>(isa);
  if (format == DType::kF8E5M2) {
    return overflow == Overflow::kSaturate
               ? Encoders<T, E5M2, Overflow::kSaturate>::kTable[i]
               : Encoders<T, E5M2, Overflow::kNonFinite>::kTable[i];
  }
  return overflow == Overflow::kSaturate
             ? Encoders<T, E4M3, Overflow::kSaturate>::kTable[i]
             : Encoders<T, E4M3, Overflow::kNonFinite>::kTable[i];
}

#define OCTET_INSTANTIATE(T) \
  template const EncodeKernels<T>& EncodeKernelsFor<T>(DType, Overflow, Isa)
OCTET_INSTANTIATE(float);
OCTET_INSTANTIATE(Bfloat16);
OCTET_INSTANTIATE(Float16);
#undef OCTET_INSTANTIATE

}  // namespace octet::float8::internal
