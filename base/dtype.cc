// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace octet {
namespace {

struct Entry {
  DType dtype;
  const char* name;
  int64_t size;
};

constexpr Entry kTable[] = {
    {DType::kF64, "f64", 8},        {DType::kF32, "f32", 4},
    {DType::kBf16, "bf16", 2},      {DType::kF16, "f16", 2},
    {DType::kF8E4M3, "f8_e4m3", 1}, {DType::kF8E5M2, "f8_e5m2", 1},
    {DType::kF8E8M0, "f8_e8m0", 1}, {DType::kI64, "i64", 8},
    {DType::kI32, "i32", 4},        {DType::kI16, "i16", 2},
    {DType::kI8, "i8", 1},          {DType::kU64, "u64", 8},
    {DType::kU32, "u32", 4},        {DType::kU16, "u16", 2},
    {DType::kU8, "u8", 1},          {DType::kBool, "bool", 1},
};

}  // namespace

int64_t SizeOf(DType dtype) { return kTable[static_cast<int>(dtype)].size; }

absl::string_view Name(DType dtype) {
  return kTable[static_cast<int>(dtype)].name;
}

absl::StatusOr<DType> ParseDType(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  std::string known;
  for (const Entry& e : kTable) {
    if (lower == e.name) return e.dtype;
    absl::StrAppend(&known, known.empty() ? "" : ", ", e.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown dtype '", name, "'; known: ", known));
}

bool IsFloat8(DType dtype) {
  return dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2;
}

bool IsHighPrecision(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBf16 || dtype == DType::kF16;
}

}  // namespace octet
