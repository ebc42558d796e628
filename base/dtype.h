// SPDX-License-Identifier: Apache-2.0

// Element types: sizes and names.
//
// Covers every type a safetensors file may hold; arithmetic is defined for the
// floating-point ones only. Names are lower case ("bf16", "f8_e4m3"), and
// ParseDType also takes safetensors' upper-case forms.
#ifndef OCTET_BASE_DTYPE_H_
#define OCTET_BASE_DTYPE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace octet {

enum class DType : uint8_t {
  kF64,
  kF32,
  kBf16,
  kF16,
  kF8E4M3,  // e4m3fn: max 448, no infinity
  kF8E5M2,  // max 57344
  kF8E8M0,  // power-of-two scales of the mx formats
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
};

// Bytes of one element.
int64_t SizeOf(DType dtype);

absl::string_view Name(DType dtype);

// InvalidArgument lists the known names.
absl::StatusOr<DType> ParseDType(absl::string_view name);

bool IsFloat8(DType dtype);

// f32, bf16 or f16: what float8 is cast from and back to.
bool IsHighPrecision(DType dtype);

}  // namespace octet

#endif  // OCTET_BASE_DTYPE_H_
