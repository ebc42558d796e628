// SPDX-License-Identifier: Apache-2.0

// The two float8 formats: e4m3fn (DType::kF8E4M3) and e5m2 (DType::kF8E5M2).
//
//   e4m3fn  sign, 4 exponent bits of bias 7,  3 mantissa bits; no infinity
//   e5m2    sign, 5 exponent bits of bias 15, 2 mantissa bits; as IEEE's half
//
// Encoding rounds to nearest, ties to even, once, straight from the source's
// own precision. Every NaN becomes 0x7f, in both overflow modes; zeros keep
// their sign. Decoding is exact for every target type. Source: P. Micikevicius
// et al., "FP8 formats for deep learning", 2022.
#ifndef OCTET_FLOAT8_FORMAT_H_
#define OCTET_FLOAT8_FORMAT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "base/dtype.h"
#include "base/float16.h"
#include "float8/format_traits.h"

namespace octet::float8 {

// Throughout, `format` must be one of the two.
uint8_t Encode(float x, DType format, Overflow overflow = Overflow::kSaturate);
uint8_t Encode(double x, DType format, Overflow overflow = Overflow::kSaturate);
float Decode(uint8_t code, DType format);

// A code of one format in the other, or in its own (then only NaN changes).
uint8_t Convert(uint8_t code, DType from, DType to,
                Overflow overflow = Overflow::kSaturate);

// In bulk; out is as long as in. One core, with the CPU's vector instructions.
void Encode(absl::Span<const float> in, DType format, Overflow overflow,
            absl::Span<uint8_t> out);
void Encode(absl::Span<const Bfloat16> in, DType format, Overflow overflow,
            absl::Span<uint8_t> out);
void Encode(absl::Span<const Float16> in, DType format, Overflow overflow,
            absl::Span<uint8_t> out);
void Decode(absl::Span<const uint8_t> in, DType format, absl::Span<float> out);
void Decode(absl::Span<const uint8_t> in, DType format,
            absl::Span<Bfloat16> out);
void Decode(absl::Span<const uint8_t> in, DType format,
            absl::Span<Float16> out);
void Convert(absl::Span<const uint8_t> in, DType from, DType to,
             Overflow overflow, absl::Span<uint8_t> out);

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_FORMAT_H_
