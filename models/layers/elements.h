// SPDX-License-Identifier: Apache-2.0

// What the CPU kernels of the layers share: element access in the precision
// that they compute in, an exponential that vectorises, and compilation for
// several instruction sets.
//
// Activations are f32 or bf16 and computed with in f32, or f64 throughout (for
// gradient checks). Results depend on the instruction set, by the order of sums
// and by fused multiply-adds, but not on the number of threads.
#ifndef OCTET_MODELS_LAYERS_ELEMENTS_H_
#define OCTET_MODELS_LAYERS_ELEMENTS_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"
#include "base/float16.h"
#include "base/simd.h"

namespace octet::models::internal {

// The precision that a storage type is computed in.
template <typename Element>
struct MathOf {
  using type = float;
};
template <>
struct MathOf<double> {
  using type = double;
};
template <typename Element>
using Math = typename MathOf<Element>::type;

OCTET_ALWAYS_INLINE double Load(double x) { return x; }
OCTET_ALWAYS_INLINE float Load(float x) { return x; }
OCTET_ALWAYS_INLINE float Load(Bfloat16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float f;
  std::memcpy(&f, &bits, sizeof(f));
  return f;
}

OCTET_ALWAYS_INLINE void Store(double x, double* out) { *out = x; }
OCTET_ALWAYS_INLINE void Store(float x, float* out) { *out = x; }
// Round to nearest even without a branch, as base/float16.h does it.
OCTET_ALWAYS_INLINE void Store(float x, Bfloat16* out) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  const uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40u;
  out->bits = static_cast<uint16_t>(
      (bits & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded);
}

OCTET_ALWAYS_INLINE double Exp(double x) { return std::exp(x); }
// Within 2 ulp; 0 below -87.33 (no subnormal results), finite for finite x, NaN
// stays NaN. 2^n times a polynomial in the rest, which is at most ln(2) / 2.
OCTET_ALWAYS_INLINE float Exp(float x) {
  constexpr float kLow = -87.33f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: integers are its ulps
  float y = x < kLow ? kLow : x;
  y = y > 88.37f ? 88.37f : y;
  const float shifted = y * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (y - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  uint32_t bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  const uint32_t power = (bits - 0x4B400000u + 127u) << 23;
  float scale;
  std::memcpy(&scale, &power, sizeof(scale));
  return x < kLow ? 0.0f : p * scale;
}

template <typename Kernel, typename... Args>
OCTET_TARGET_AVX512 __attribute__((flatten)) void RunAvx512(Args... args) {
  Kernel::template Run<64>(args...);
}
template <typename Kernel, typename... Args>
OCTET_TARGET_AVX2 __attribute__((flatten)) void RunAvx2(Args... args) {
  Kernel::template Run<32>(args...);
}
template <typename Kernel, typename... Args>
void RunScalar(Args... args) {
  Kernel::template Run<16>(args...);
}

// Calls Kernel::Run<bytes of a vector>(args...), which is OCTET_ALWAYS_INLINE,
// compiled for the best instruction set that this CPU has. Arguments are plain
// values and pointers.
template <typename Kernel, typename... Args>
void RunBest(Args... args) {
  switch (BestIsa()) {
    case Isa::kAvx512:
      return RunAvx512<Kernel, Args...>(args...);
    case Isa::kAvx2:
      return RunAvx2<Kernel, Args...>(args...);
    case Isa::kScalar:
      return RunScalar<Kernel, Args...>(args...);
  }
}

// Calls f with a value of the storage type of an activation dtype, which has
// been checked.
template <typename F>
void VisitElement(DType dtype, F&& f) {
  if (dtype == DType::kF64) {
    f(double{});
  } else if (dtype == DType::kBf16) {
    f(Bfloat16{});
  } else {
    f(float{});
  }
}

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_ELEMENTS_H_
