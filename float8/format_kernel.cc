// SPDX-License-Identifier: Apache-2.0
#include "float8/format_kernel.h"

#include <algorithm>
#include <cstring>

namespace octet::float8::internal {
namespace {

OCTET_ALWAYS_INLINE uint32_t Bits(float x) {
  uint32_t u;
  std::memcpy(&u, &x, sizeof(u));
  return u;
}

OCTET_ALWAYS_INLINE float FromBits(uint32_t u) {
  float x;
  std::memcpy(&x, &u, sizeof(x));
  return x;
}

constexpr uint32_t kInfinity = 0x7f800000u;
constexpr uint32_t kMagnitude = 0x7fffffffu;

OCTET_ALWAYS_INLINE float Load(float x) { return x; }
OCTET_ALWAYS_INLINE float Load(Bfloat16 x) {
  return FromBits(static_cast<uint32_t>(x.bits) << 16);
}
// Without a branch and without subnormal operands, which x86 is slow at.
OCTET_ALWAYS_INLINE float Load(Float16 x) {
  const uint32_t shifted = static_cast<uint32_t>(x.bits & 0x7fff) << 13;
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000) << 16;
  const uint32_t normal = shifted + (112u << 23);
  const uint32_t subnormal = Bits(FromBits(shifted + (113u << 23)) - 0x1p-14f);
  const uint32_t special = shifted | kInfinity;
  uint32_t u = shifted < (1u << 23) ? subnormal : normal;
  u = shifted >= (31u << 23) ? special : u;
  return FromBits(u | sign);
}

OCTET_ALWAYS_INLINE void Store(float x, float* out) { *out = x; }
OCTET_ALWAYS_INLINE void Store(float x, Bfloat16* out) {
  const uint32_t u = Bits(x);
  const uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
  const bool nan = (u & kMagnitude) > kInfinity;
  out->bits = static_cast<uint16_t>(nan ? (u >> 16 | 0x40) : rounded);
}
OCTET_ALWAYS_INLINE void Store(float x, Float16* out) { *out = ToFloat16(x); }

struct E4M3 {
  static constexpr const FormatTraits& kTraits = kE4M3Traits;
  static constexpr uint32_t kMax = 0x43e00000u;        // 448
  static constexpr uint32_t kOverflow = 0x43f00000u;   // 480, code 0x7f
  static constexpr uint32_t kMinNormal = 0x3c800000u;  // 2^-6
};
struct E5M2 {
  static constexpr const FormatTraits& kTraits = kE5M2Traits;
  static constexpr uint32_t kMax = 0x47600000u;        // 57344
  static constexpr uint32_t kOverflow = 0x47800000u;   // 65536, code 0x7c
  static constexpr uint32_t kMinNormal = 0x38800000u;  // 2^-14
};

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

template <typename T, typename Format, Overflow kMode>
OCTET_ALWAYS_INLINE void EncodeBlocks(const T* __restrict in, int64_t n,
                                      int64_t block, const float* scales,
                                      uint8_t* __restrict out) {
  for (int64_t begin = 0; begin < n; begin += block) {
    const float scale = *scales++;
    const int64_t end = std::min(n, begin + block);
    for (int64_t i = begin; i < end; ++i) {
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

// Each loop, once for each instruction set.
template <typename T, typename Format, Overflow kMode>
struct Encoders {
  static void Blocks(const T* in, int64_t n, int64_t block, const float* scales,
                     uint8_t* out) {
    EncodeBlocks<T, Format, kMode>(in, n, block, scales, out);
  }
  OCTET_TARGET_AVX2 static void BlocksAvx2(const T* in, int64_t n,
                                           int64_t block, const float* scales,
                                           uint8_t* out) {
    EncodeBlocks<T, Format, kMode>(in, n, block, scales, out);
  }
  OCTET_TARGET_AVX512 static void BlocksAvx512(const T* in, int64_t n,
                                               int64_t block,
                                               const float* scales,
                                               uint8_t* out) {
    EncodeBlocks<T, Format, kMode>(in, n, block, scales, out);
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
    EncodeColumns<T, Format, kMode>(in, n, scales, out);
  }
  static constexpr EncodeKernels<T> kTable[kNumIsas] = {
      {&Blocks, &Columns},
      {&BlocksAvx2, &ColumnsAvx2},
      {&BlocksAvx512, &ColumnsAvx512},
  };
};

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
    DecodeBlocks<T, Format>(in, n, block, multipliers, out);
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
    DecodeColumns<T, Format>(in, n, multipliers, out);
  }
  static constexpr DecodeKernels<T> kTable[kNumIsas] = {
      {&Blocks, &Columns},
      {&BlocksAvx2, &ColumnsAvx2},
      {&BlocksAvx512, &ColumnsAvx512},
  };
};

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
    AmaxBlocks<T>(in, n, block, amax);
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

template <typename T>
const AmaxKernels<T>& AmaxKernelsFor(Isa isa) {
  return Amaxes<T>::kTable[static_cast<int>(isa)];
}

template <typename T>
const DecodeKernels<T>& DecodeKernelsFor(DType format, Isa isa) {
  const int i = static_cast<int>(isa);
  return format == DType::kF8E5M2 ? Decoders<T, E5M2>::kTable[i]
                                  : Decoders<T, E4M3>::kTable[i];
}

#define OCTET_INSTANTIATE_ROW_KERNELS(T)                                      \
  template const EncodeKernels<T>& EncodeKernelsFor<T>(DType, Overflow, Isa); \
  template const AmaxKernels<T>& AmaxKernelsFor<T>(Isa);                      \
  template const DecodeKernels<T>& DecodeKernelsFor<T>(DType, Isa)
OCTET_INSTANTIATE_ROW_KERNELS(float);
OCTET_INSTANTIATE_ROW_KERNELS(Bfloat16);
OCTET_INSTANTIATE_ROW_KERNELS(Float16);
#undef OCTET_INSTANTIATE_ROW_KERNELS

}  // namespace octet::float8::internal
