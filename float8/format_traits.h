// SPDX-License-Identifier: Apache-2.0

// The float8 formats as data.
#ifndef OCTET_FLOAT8_FORMAT_TRAITS_H_
#define OCTET_FLOAT8_FORMAT_TRAITS_H_

#include <cstdint>

#include "base/dtype.h"

namespace octet::float8 {

// What a value past the largest finite one becomes, after rounding: 464 rounds
// to e4m3's 448 in both modes.
enum class Overflow : uint8_t {
  kSaturate,   // the largest finite value; infinities too
  kNonFinite,  // NaN in e4m3fn, infinity in e5m2, of the value's sign
};

struct FormatTraits {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  float max;                 // largest finite value
  float min_normal;          // smallest normal value
  float smallest_subnormal;  // code 0x01
  uint8_t max_code;
  uint8_t overflow_code;  // of kNonFinite, without sign
  bool has_infinity;
};
inline constexpr FormatTraits kE4M3Traits = {
    4, 3, 7, 448.0f, 0x1p-6f, 0x1p-9f, 0x7e, 0x7f, false};
inline constexpr FormatTraits kE5M2Traits = {
    5, 2, 15, 57344.0f, 0x1p-14f, 0x1p-16f, 0x7b, 0x7c, true};

// `format` must be one of the two.
constexpr const FormatTraits& TraitsOf(DType format) {
  return format == DType::kF8E5M2 ? kE5M2Traits : kE4M3Traits;
}

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_FORMAT_TRAITS_H_
