// SPDX-License-Identifier: Apache-2.0

#include "float8/gemm_cpu_epilogue_kernel.h"

#include <algorithm>
#include <cstring>

#include "base/float16.h"
#include "base/parallel.h"
#include "base/simd.h"

namespace octet::float8::internal {
namespace {

// Elements that one core takes at a time.
constexpr int64_t kGrain = 16384;

OCTET_ALWAYS_INLINE float Load(const float* x) { return *x; }
OCTET_ALWAYS_INLINE float Load(const Bfloat16* x) { return ToFloat(*x); }

OCTET_ALWAYS_INLINE void Store(float x, float* out) { *out = x; }
// base's ToBfloat16, inline so that the loop is a vector loop.
OCTET_ALWAYS_INLINE void Store(float x, Bfloat16* out) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  const uint32_t quiet = bits >> 16 | 0x40u;
  out->bits = static_cast<uint16_t>(is_nan ? quiet : rounded);
}

// One row. Each choice is made outside of the loop.
template <bool kBeta, bool kBias, typename Out>
OCTET_ALWAYS_INLINE void FinishLoop(int64_t n, const float* sums, float row,
                                    const Epilogue& e, Out* out) {
  const float* const col = e.col;
  const float* const bias = e.bias;
  const float alpha = e.alpha, beta = e.beta;
  OCTET_IVDEP
  for (int64_t j = 0; j < n; ++j) {
    float value = alpha * (sums[j] * (row * col[j]));
    if (kBeta) value = value + beta * Load(out + j);
    if (kBias) value = value + bias[j];
    Store(value, out + j);
  }
}

template <typename Out>
OCTET_ALWAYS_INLINE void FinishRow(int64_t n, const float* sums, float row,
                                   const Epilogue& e, Out* out) {
  if (e.beta != 0.0f) {
    if (e.bias != nullptr) {
      FinishLoop<true, true>(n, sums, row, e, out);
    } else {
      FinishLoop<true, false>(n, sums, row, e, out);
    }
  } else if (e.bias != nullptr) {
    FinishLoop<false, true>(n, sums, row, e, out);
  } else {
    FinishLoop<false, false>(n, sums, row, e, out);
  }
}

OCTET_ALWAYS_INLINE void AddScaledRow(int64_t n, const float* part, float row,
                                      const float* col, WriteMode mode,
                                      float* total) {
  if (mode == WriteMode::kAdd) {
    OCTET_IVDEP
    for (int64_t j = 0; j < n; ++j) {
      total[j] = total[j] + part[j] * (row * col[j]);
    }
  } else {
    OCTET_IVDEP
    for (int64_t j = 0; j < n; ++j) total[j] = part[j] * (row * col[j]);
  }
}

#define OCTET_EPILOGUE_LOOPS(SUFFIX, TARGET)                                \
  template <typename Out>                                                   \
  TARGET void FinishRow##SUFFIX(int64_t n, const float* sums, float row,    \
                                const Epilogue& e, Out* out) {              \
    FinishRow(n, sums, row, e, out);                                        \
  }                                                                         \
  TARGET void AddScaledRow##SUFFIX(int64_t n, const float* part, float row, \
                                   const float* col, WriteMode mode,        \
                                   float* total) {                          \
    AddScaledRow(n, part, row, col, mode, total);                           \
  }
OCTET_EPILOGUE_LOOPS(Scalar, )
OCTET_EPILOGUE_LOOPS(Avx2, OCTET_TARGET_AVX2)
OCTET_EPILOGUE_LOOPS(Avx512, OCTET_TARGET_AVX512)
#undef OCTET_EPILOGUE_LOOPS

template <typename Out>
auto FinishRowFor(Isa isa) {
  return isa == Isa::kAvx512 ? &FinishRowAvx512<Out>
         : isa == Isa::kAvx2 ? &FinishRowAvx2<Out>
                             : &FinishRowScalar<Out>;
}

auto AddScaledRowFor(Isa isa) {
  return isa == Isa::kAvx512 ? &AddScaledRowAvx512
         : isa == Isa::kAvx2 ? &AddScaledRowAvx2
                             : &AddScaledRowScalar;
}

int64_t RowsAtATime(int64_t n) { return std::max<int64_t>(kGrain / n, 1); }

template <typename Out>
void FinishAs(int64_t m, int64_t n, const float* sums, const Epilogue& e,
              Out* out) {
  const auto finish_row = FinishRowFor<Out>(BestIsa());
  ParallelFor(m, RowsAtATime(n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      finish_row(n, sums + i * n, e.row[i], e, out + i * n);
    }
  });
}

// Not vectorised: base's conversions are calls, and no training step asks.
void FinishF16(int64_t m, int64_t n, const float* sums, const Epilogue& e,
               Float16* out) {
  ParallelFor(m, RowsAtATime(n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        Float16& slot = out[i * n + j];
        float value = e.alpha * (sums[i * n + j] * (e.row[i] * e.col[j]));
        if (e.beta != 0.0f) value = value + e.beta * ToFloat(slot);
        if (e.bias != nullptr) value = value + e.bias[j];
        slot = ToFloat16(value);
      }
    }
  });
}

}  // namespace

void AddScaled(int64_t m, int64_t n, const float* part, const float* row,
               const float* col, WriteMode mode, float* total) {
  const auto add_row = AddScaledRowFor(BestIsa());
  ParallelFor(m, RowsAtATime(n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      add_row(n, part + i * n, row[i], col, mode, total + i * n);
    }
  });
}

void Finish(int64_t m, int64_t n, const float* sums, const Epilogue& epilogue,
            const TensorView& out) {
  if (out.dtype() == DType::kBf16) {
    FinishAs(m, n, sums, epilogue, out.as<Bfloat16>());
  } else if (out.dtype() == DType::kF16) {
    FinishF16(m, n, sums, epilogue, out.as<Float16>());
  } else {
    FinishAs(m, n, sums, epilogue, out.as<float>());
  }
}

}  // namespace octet::float8::internal
