// SPDX-License-Identifier: Apache-2.0
#include "base/simd.h"

#include <algorithm>
#include <cstdlib>

namespace octet {
namespace {

Isa Detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2")) {
    return Isa::kScalar;
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return Isa::kAvx512;
  }
  return Isa::kAvx2;
#else
  return Isa::kScalar;
#endif
}

// $OCTET_MAX_ISA; another word is no limit.
Isa Limit() {
  const char* name = std::getenv("OCTET_MAX_ISA");
  for (int i = 0; name != nullptr && i < kNumIsas; ++i) {
    if (Name(static_cast<Isa>(i)) == name) return static_cast<Isa>(i);
  }
  return Isa::kAvx512;
}

}  // namespace

absl::string_view Name(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "?";
}

Isa BestIsa() {
  static const Isa best = std::min(Detect(), Limit());
  return best;
}

std::vector<Isa> UsableIsas() {
  std::vector<Isa> all;
  for (int i = 0; i <= static_cast<int>(BestIsa()); ++i) {
    all.push_back(static_cast<Isa>(i));
  }
  return all;
}

bool HasBf16Products() {
#if defined(__x86_64__)
  static const bool has =
      BestIsa() == Isa::kAvx512 && __builtin_cpu_supports("avx512bf16");
  return has;
#else
  return false;
#endif
}

}  // namespace octet
