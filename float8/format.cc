// SPDX-License-Identifier: Apache-2.0
#include "float8/format.h"

#include <array>
#include <cstring>

#include "base/simd.h"
#include "float8/simd/format_kernel.h"

namespace octet::float8 {
namespace {

// Rounds a double to float so that a later rounding to float8 sees all of it:
// what does not fit sets the last bit (rounding to odd).
float ToFloatOdd(double x) {
  const float f = static_cast<float>(x);
  if (static_cast<double>(f) == x || f != f) return f;
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof(bits));
  const bool too_large =
      x < 0 ? static_cast<double>(f) < x : static_cast<double>(f) > x;
  if (too_large) --bits;
  bits |= 1;
  float odd;
  std::memcpy(&odd, &bits, sizeof(odd));
  return odd;
}

std::array<uint8_t, 256> ConversionTable(DType from, DType to,
                                         Overflow overflow) {
  std::array<uint8_t, 256> table;
  for (int code = 0; code < 256; ++code) {
    table[code] = Convert(static_cast<uint8_t>(code), from, to, overflow);
  }
  return table;
}

template <typename T>
void EncodeAll(absl::Span<const T> in, DType format, Overflow overflow,
               absl::Span<uint8_t> out) {
  const float one = 1.0f;
  const int64_t n = static_cast<int64_t>(in.size());
  internal::EncodeKernelsFor<T>(format, overflow, BestIsa())
      .encode_blocks(in.data(), n, n, &one, out.data());
}

template <typename T>
void DecodeAll(absl::Span<const uint8_t> in, DType format, absl::Span<T> out) {
  const float one = 1.0f;
  const int64_t n = static_cast<int64_t>(in.size());
  internal::DecodeKernelsFor<T>(format, BestIsa())
      .blocks(in.data(), n, n, &one, out.data());
}

}  // namespace

uint8_t Encode(float x, DType format, Overflow overflow) {
  const float one = 1.0f;
  uint8_t code;
  internal::EncodeKernelsFor<float>(format, overflow, Isa::kScalar)
      .encode_blocks(&x, 1, 1, &one, &code);
  return code;
}

uint8_t Encode(double x, DType format, Overflow overflow) {
  return Encode(ToFloatOdd(x), format, overflow);
}

float Decode(uint8_t code, DType format) {
  const float one = 1.0f;
  float x;
  internal::DecodeKernelsFor<float>(format, Isa::kScalar)
      .blocks(&code, 1, 1, &one, &x);
  return x;
}

uint8_t Convert(uint8_t code, DType from, DType to, Overflow overflow) {
  return Encode(Decode(code, from), to, overflow);
}

void Encode(absl::Span<const float> in, DType format, Overflow overflow,
            absl::Span<uint8_t> out) {
  EncodeAll(in, format, overflow, out);
}

void Encode(absl::Span<const Bfloat16> in, DType format, Overflow overflow,
            absl::Span<uint8_t> out) {
  EncodeAll(in, format, overflow, out);
}

void Encode(absl::Span<const Float16> in, DType format, Overflow overflow,
            absl::Span<uint8_t> out) {
  EncodeAll(in, format, overflow, out);
}

void Decode(absl::Span<const uint8_t> in, DType format, absl::Span<float> out) {
  DecodeAll(in, format, out);
}

void Decode(absl::Span<const uint8_t> in, DType format,
            absl::Span<Bfloat16> out) {
  DecodeAll(in, format, out);
}

void Decode(absl::Span<const uint8_t> in, DType format,
            absl::Span<Float16> out) {
  DecodeAll(in, format, out);
}

void Convert(absl::Span<const uint8_t> in, DType from, DType to,
             Overflow overflow, absl::Span<uint8_t> out) {
  const std::array<uint8_t, 256> table = ConversionTable(from, to, overflow);
  for (size_t i = 0; i < in.size(); ++i) out[i] = table[in[i]];
}

}  // namespace octet::float8
