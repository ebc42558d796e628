// SPDX-License-Identifier: Apache-2.0
#include "base/float16.h"

namespace octet {
namespace {

uint32_t Bits(float x) {
  uint32_t u;
  std::memcpy(&u, &x, sizeof(u));
  return u;
}

float FromBits(uint32_t u) {
  float x;
  std::memcpy(&x, &u, sizeof(x));
  return x;
}

}  // namespace

float ToFloat(Float16 x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000) << 16;
  const uint32_t exponent = (x.bits >> 10) & 0x1f;
  const uint32_t mantissa = x.bits & 0x3ff;
  if (exponent == 0) {
    // mantissa * 2^-24 is exact in float.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return FromBits(sign | Bits(magnitude));
  }
  if (exponent == 0x1f) return FromBits(sign | 0x7f800000u | mantissa << 13);
  return FromBits(sign | (exponent + 112) << 23 | mantissa << 13);
}

Bfloat16 ToBfloat16(float x) {
  const uint32_t u = Bits(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) {
    return {static_cast<uint16_t>(u >> 16 | 0x40)};
  }
  return {static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16)};
}

Float16 ToFloat16(float x) {
  const uint32_t u = Bits(x);
  const uint32_t sign = u >> 16 & 0x8000;
  const uint32_t a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00)};
  // 65520 is the tie between 65504 and 2^16 and rounds up.
  if (a >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00)};
  if (a < 0x38800000u) {
    // Below 2^-14: adding 0.5 leaves round(|x| * 2^24) in the low bits.
    const float shifted = FromBits(a) + 0.5f;
    return {static_cast<uint16_t>(sign | (Bits(shifted) - Bits(0.5f)))};
  }
  const uint32_t rounded = a + 0xfff + (a >> 13 & 1);
  return {static_cast<uint16_t>(sign | ((rounded >> 13) - (112 << 10)))};
}

}  // namespace octet
