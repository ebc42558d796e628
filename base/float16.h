// SPDX-License-Identifier: Apache-2.0

// The two 16-bit floating-point types as storage, with exact conversions.
//
// From float: round to nearest even; NaN stays NaN (quiet), overflow gives
// infinity. To float: exact.
#ifndef OCTET_BASE_FLOAT16_H_
#define OCTET_BASE_FLOAT16_H_

#include <cstdint>
#include <cstring>

namespace octet {

struct Bfloat16 {
  uint16_t bits;
};

struct Float16 {
  uint16_t bits;
};

inline float ToFloat(Bfloat16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float f;
  std::memcpy(&f, &bits, sizeof(f));
  return f;
}

float ToFloat(Float16 x);

Bfloat16 ToBfloat16(float x);
Float16 ToFloat16(float x);

// Identity, so that templates convert any storage type alike.
inline float ToFloat(float x) { return x; }

}  // namespace octet

#endif  // OCTET_BASE_FLOAT16_H_
