// SPDX-License-Identifier: Apache-2.0

// Compiled without contraction to fused multiply-add: the same bits on every
// processor.

#include <cmath>

#include "base/parallel.h"
#include "base/simd.h"
#include "train/adamw.h"
#include "train/adamw_kernel.h"

namespace octet::train::internal {
namespace {

constexpr int64_t kGrain = 1 << 14;

OCTET_ALWAYS_INLINE void Update(const AdamWScalars& s, int64_t n,
                                const float* __restrict gradient,
                                float* __restrict master, float* __restrict m,
                                float* __restrict v) {
  for (int64_t i = 0; i < n; ++i) {
    const float g = gradient[i] * s.gradient_scale;
    const float mean = m[i] + s.one_minus_beta1 * (g - m[i]);
    const float square = s.beta2 * v[i] + s.one_minus_beta2 * g * g;
    const float denominator = std::sqrt(square) / s.sqrt_bias2 + s.eps;
    m[i] = mean;
    v[i] = square;
    master[i] = master[i] * s.decay - s.step_size * (mean / denominator);
  }
}

OCTET_TARGET_AVX2 void UpdateAvx2(const AdamWScalars& s, int64_t n,
                                  const float* gradient, float* master,
                                  float* m, float* v) {
  Update(s, n, gradient, master, m, v);
}

void UpdatePlain(const AdamWScalars& s, int64_t n, const float* gradient,
                 float* master, float* m, float* v) {
  Update(s, n, gradient, master, m, v);
}

}  // namespace

absl::Status AdamWCpu(const Stream&, const AdamWScalars& scalars,
                      absl::Span<const AdamWTensors> tensors) {
  const auto update = BestIsa() == Isa::kScalar ? &UpdatePlain : &UpdateAvx2;
  for (const AdamWTensors& t : tensors) {
    const float* gradient = t.gradient.as<float>();
    float* master = t.master.as<float>();
    float* m = t.m.as<float>();
    float* v = t.v.as<float>();
    ParallelFor(t.master.num_elements(), kGrain,
                [&](int64_t begin, int64_t end) {
                  update(scalars, end - begin, gradient + begin, master + begin,
                         m + begin, v + begin);
                });
  }
  return absl::OkStatus();
}

}  // namespace octet::train::internal
