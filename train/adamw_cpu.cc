// SPDX-License-Identifier: Apache-2.0

// Compiled without contraction to fused multiply-add: the same bits on every
// processor. Where nothing is rounded at random, the loop is one that compilers
// make vectors of.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/float16.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "base/simd.h"
#include "train/adamw.h"
#include "train/adamw_kernel.h"
#include "train/adamw_rounding.h"

namespace octet::train::internal {
namespace {

constexpr int64_t kGrain = 1 << 14;

// An element before and after.
struct State {
  float master, m, v;
};

OCTET_ALWAYS_INLINE State Next(const AdamWScalars& s, float gradient,
                               const State& old) {
  const float g = gradient * s.gradient_scale;
  const float mean = old.m + s.one_minus_beta1 * (g - old.m);
  const float square = s.beta2 * old.v + s.one_minus_beta2 * g * g;
  const float denominator = std::sqrt(square) / s.sqrt_bias2 + s.eps;
  return {old.master * s.decay - s.step_size * (mean / denominator), mean,
          square};
}

template <typename Gradient>
OCTET_ALWAYS_INLINE void UpdateExact(const AdamWScalars& s, int64_t n,
                                     const Gradient* __restrict gradient,
                                     float* __restrict master,
                                     float* __restrict m, float* __restrict v) {
  for (int64_t i = 0; i < n; ++i) {
    const State next = Next(s, ToFloat(gradient[i]), {master[i], m[i], v[i]});
    m[i] = next.m;
    v[i] = next.v;
    master[i] = next.master;
  }
}

template <typename Gradient>
OCTET_TARGET_AVX2 void UpdateExactAvx2(const AdamWScalars& s, int64_t n,
                                       const Gradient* gradient, float* master,
                                       float* m, float* v) {
  UpdateExact(s, n, gradient, master, m, v);
}

void Write(float x, uint32_t, float* out) { *out = x; }
void Write(float x, uint32_t random, Bfloat16* out) {
  *out = RoundStochastically(x, random);
}

// Elements [begin, end) of a shard.
template <typename Master, typename Gradient, typename Moment>
void UpdateRounded(const AdamWScalars& s, const AdamWTensors& t, int64_t begin,
                   int64_t end) {
  const Philox random(s.seed, RoundingStream(t.rounding_key, s.step));
  const Gradient* gradient = t.gradient.as<Gradient>();
  Master* master = t.master.as<Master>();
  Moment* m = t.m.as<Moment>();
  Moment* v = t.v.as<Moment>();
  std::array<std::array<uint32_t, 4>, kStates> words = {};
  for (int64_t i = begin; i < end; ++i) {
    const auto element = static_cast<uint64_t>(t.first_element + i);
    if (i == begin || element % kGroup == 0) {
      for (int k = 0; k < kStates; ++k) {
        words[k] = random.Words(RoundingCounter(element, k));
      }
    }
    const State next = Next(s, ToFloat(gradient[i]),
                            {ToFloat(master[i]), ToFloat(m[i]), ToFloat(v[i])});
    Write(next.master, RoundingBits(words[kMasterState], element), &master[i]);
    Write(next.m, RoundingBits(words[kMState], element), &m[i]);
    Write(next.v, RoundingBits(words[kVState], element), &v[i]);
  }
}

template <typename Master, typename Gradient, typename Moment>
void Update(const AdamWScalars& s, const AdamWTensors& t, int64_t begin,
            int64_t end) {
  if constexpr (std::is_same_v<Master, float> &&
                std::is_same_v<Moment, float>) {
    const auto update = BestIsa() == Isa::kScalar ? &UpdateExact<Gradient>
                                                  : &UpdateExactAvx2<Gradient>;
    update(s, end - begin, t.gradient.as<Gradient>() + begin,
           t.master.as<float>() + begin, t.m.as<float>() + begin,
           t.v.as<float>() + begin);
  } else {
    UpdateRounded<Master, Gradient, Moment>(s, t, begin, end);
  }
}

template <typename T>
uint32_t AbsBits(T x) {
  const float f = ToFloat(x);
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof(bits));
  return bits & 0x7fffffffu;
}

// Writes the weight, if there is one; returns the bits of the largest magnitude
// of what the model reads, whose order is that of the magnitudes.
template <typename Master>
uint32_t WriteWeight(const AdamWTensors& t, int64_t begin, int64_t end) {
  const Master* master = t.master.as<Master>();
  Bfloat16* weight = t.weight.as<Bfloat16>();
  uint32_t largest = 0;
  for (int64_t i = begin; i < end; ++i) {
    uint32_t bits = AbsBits(master[i]);
    if (weight != nullptr) {
      weight[i] = ToBfloat16(ToFloat(master[i]));
      bits = AbsBits(weight[i]);
    }
    largest = std::max(largest, bits);
  }
  return largest;
}

template <typename Master, typename Gradient, typename Moment>
void UpdateTensor(const AdamWScalars& scalars, const AdamWTensors& t) {
  std::atomic<uint32_t> largest{0};
  ParallelFor(t.master.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
    Update<Master, Gradient, Moment>(scalars, t, begin, end);
    if (!t.weight.present() && !t.amax.present()) return;
    const uint32_t mine = WriteWeight<Master>(t, begin, end);
    uint32_t known = largest.load();
    while (known < mine && !largest.compare_exchange_weak(known, mine)) {
    }
  });
  if (!t.amax.present()) return;
  const uint32_t bits = largest.load();
  std::memcpy(t.amax.data(), &bits, sizeof(bits));
}

template <typename Master, typename Gradient>
void UpdateMoments(const AdamWScalars& scalars, const AdamWTensors& t) {
  if (t.m.dtype() == DType::kBf16) {
    UpdateTensor<Master, Gradient, Bfloat16>(scalars, t);
  } else {
    UpdateTensor<Master, Gradient, float>(scalars, t);
  }
}

template <typename Master>
void UpdateGradient(const AdamWScalars& scalars, const AdamWTensors& t) {
  if (t.gradient.dtype() == DType::kBf16) {
    UpdateMoments<Master, Bfloat16>(scalars, t);
  } else {
    UpdateMoments<Master, float>(scalars, t);
  }
}

}  // namespace

absl::Status AdamWCpu(const Stream&, const AdamWScalars& scalars,
                      absl::Span<const AdamWTensors> tensors) {
  for (const AdamWTensors& t : tensors) {
    if (t.master.dtype() == DType::kBf16) {
      UpdateGradient<Bfloat16>(scalars, t);
    } else {
      UpdateGradient<float>(scalars, t);
    }
  }
  return absl::OkStatus();
}

}  // namespace octet::train::internal
