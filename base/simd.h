// SPDX-License-Identifier: Apache-2.0

// Instruction sets that a hot loop is compiled for, one of which the CPU at
// hand is given.
//
//   template <typename T> OCTET_ALWAYS_INLINE void Loop(...) { ... }
//   void LoopScalar(...) { Loop(...); }
//   OCTET_TARGET_AVX2 void LoopAvx2(...) { Loop(...); }
//   OCTET_TARGET_AVX512 void LoopAvx512(...) { Loop(...); }
//
// The source is the same for all, so the results are too, as long as no
// contraction into fused multiply-adds is allowed (-ffp-contract=off).
#ifndef OCTET_BASE_SIMD_H_
#define OCTET_BASE_SIMD_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

#define OCTET_ALWAYS_INLINE inline __attribute__((always_inline))

#if defined(__x86_64__)
#define OCTET_TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#if defined(__clang__)
#define OCTET_TARGET_AVX512                                                  \
  __attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl"), \
                 min_vector_width(512)))
#else
#define OCTET_TARGET_AVX512                                      \
  __attribute__((                                                \
      target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl," \
             "prefer-vector-width=512")))
#endif
#else
#define OCTET_TARGET_AVX2
#define OCTET_TARGET_AVX512
#endif

// Before a loop: no iteration reads what another one writes.
#if defined(__clang__)
#define OCTET_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define OCTET_IVDEP _Pragma("GCC ivdep")
#endif

namespace octet {

// In rising order: a CPU that has one has those before it.
enum class Isa : uint8_t { kScalar, kAvx2, kAvx512 };
inline constexpr int kNumIsas = 3;

// "scalar", "avx2", "avx512"
absl::string_view Name(Isa isa);

// The last one that this CPU and its operating system run, and no later one
// than $OCTET_MAX_ISA ("scalar", "avx2"), which shows what another CPU would
// do; found once.
Isa BestIsa();

// All that it runs, kScalar first: what a test walks.
std::vector<Isa> UsableIsas();

// Whether it multiplies bf16 without going through f32 (avx512bf16).
bool HasBf16Products();

}  // namespace octet

#endif  // OCTET_BASE_SIMD_H_
