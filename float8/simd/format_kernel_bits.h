// SPDX-License-Identifier: Apache-2.0

// One element at a time, in f32's bits and without branches: what the loops of
// format_kernel.h repeat.
#ifndef OCTET_FLOAT8_SIMD_FORMAT_KERNEL_BITS_H_
#define OCTET_FLOAT8_SIMD_FORMAT_KERNEL_BITS_H_

#include <cstdint>
#include <cstring>

#include "base/float16.h"
#include "base/simd.h"
#include "float8/format_traits.h"

namespace octet::float8::internal {

inline constexpr uint32_t kInfinity = 0x7f800000u;
inline constexpr uint32_t kMagnitude = 0x7fffffffu;

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

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_SIMD_FORMAT_KERNEL_BITS_H_
