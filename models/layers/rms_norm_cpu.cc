// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>

#include "base/parallel.h"
#include "float8/amax.h"
#include "models/layers/elements.h"
#include "models/layers/rms_norm_kernel.h"

namespace octet::models::internal {
namespace {

constexpr int64_t kRowGrain = 16;
constexpr int64_t kColumnGrain = 32;

template <typename Element>
struct ForwardRows {
  template <int kVectorBytes>
  static OCTET_ALWAYS_INLINE void Run(int64_t begin, int64_t end,
                                      int64_t hidden, double epsilon,
                                      const Element* residual,
                                      const Element* delta,
                                      const Element* weight, Element* x,
                                      Element* y, Math<Element>* rstd) {
    using T = Math<Element>;
    for (int64_t i = begin; i < end; ++i) {
      Element* xi = x + i * hidden;
      if (delta != nullptr) {
        const Element* a = residual + i * hidden;
        const Element* b = delta + i * hidden;
        // x may be residual itself: the same element, never another one.
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          Store(Load(a[j]) + Load(b[j]), &xi[j]);
        }
      }
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t j = 0; j < hidden; ++j) sum += Load(xi[j]) * Load(xi[j]);
      const T scale = T(1) / std::sqrt(sum / T(hidden) + T(epsilon));
      rstd[i] = scale;
      Element* yi = y + i * hidden;
#pragma omp simd
      for (int64_t j = 0; j < hidden; ++j) {
        Store(Load(xi[j]) * scale * Load(weight[j]), &yi[j]);
      }
    }
  }
};

// With n = x * rstd and g = dy * weight: dx += rstd * (g - n * mean(g n)).
template <typename Element>
struct BackwardRows {
  template <int kVectorBytes>
  static OCTET_ALWAYS_INLINE void Run(int64_t begin, int64_t end,
                                      int64_t hidden, const Element* x,
                                      const Element* weight,
                                      const Math<Element>* rstd,
                                      const Element* dy, Element* dx) {
    using T = Math<Element>;
    for (int64_t i = begin; i < end; ++i) {
      const Element* xi = x + i * hidden;
      const Element* gi = dy + i * hidden;
      Element* out = dx + i * hidden;
      T dot = 0;
#pragma omp simd reduction(+ : dot)
      for (int64_t j = 0; j < hidden; ++j) {
        dot += Load(gi[j]) * Load(weight[j]) * Load(xi[j]);
      }
      const T scale = rstd[i];
      const T mean = dot * scale * scale / T(hidden);
#pragma omp simd
      for (int64_t j = 0; j < hidden; ++j) {
        const T g = Load(gi[j]) * Load(weight[j]);
        Store(Load(out[j]) + scale * (g - Load(xi[j]) * mean), &out[j]);
      }
    }
  }
};

// Columns [begin, end), rows in order: the same bits for any split.
template <typename Element>
struct BackwardWeight {
  template <int kVectorBytes>
  static OCTET_ALWAYS_INLINE void Run(int64_t begin, int64_t end, int64_t rows,
                                      int64_t hidden, const Element* x,
                                      const Math<Element>* rstd,
                                      const Element* dy,
                                      Math<Element>* dweight) {
    for (int64_t i = 0; i < rows; ++i) {
      const Element* xi = x + i * hidden;
      const Element* gi = dy + i * hidden;
      const Math<Element> scale = rstd[i];
#pragma omp simd
      for (int64_t j = begin; j < end; ++j) {
        dweight[j] += Load(gi[j]) * Load(xi[j]) * scale;
      }
    }
  }
};

}  // namespace

absl::Status RmsNormForwardCpu(const Stream& stream,
                               const RmsNormForwardArgs& args) {
  VisitElement(args.residual.dtype(), [&](auto element) {
    using Element = decltype(element);
    ParallelFor(args.residual.rows(), kRowGrain,
                [&](int64_t begin, int64_t end) {
                  RunBest<ForwardRows<Element>>(
                      begin, end, args.residual.cols(), args.epsilon,
                      static_cast<const Element*>(args.residual.data()),
                      static_cast<const Element*>(args.delta.data()),
                      static_cast<const Element*>(args.weight.data()),
                      args.x.as<Element>(), args.y.as<Element>(),
                      args.rstd.as<Math<Element>>());
                });
  });
  if (!args.amax.present()) return absl::OkStatus();
  return float8::Amax(stream, args.y, float8::Granularity::kTensor, args.amax);
}

absl::Status RmsNormBackwardCpu(const Stream& stream,
                                const RmsNormBackwardArgs& args) {
  VisitElement(args.x.dtype(), [&](auto element) {
    using Element = decltype(element);
    const auto* x = static_cast<const Element*>(args.x.data());
    const auto* dy = static_cast<const Element*>(args.dy.data());
    const auto* rstd = static_cast<const Math<Element>*>(args.rstd.data());
    ParallelFor(args.x.cols(), kColumnGrain, [&](int64_t begin, int64_t end) {
      RunBest<BackwardWeight<Element>>(begin, end, args.x.rows(), args.x.cols(),
                                       x, rstd, dy,
                                       args.dweight.as<Math<Element>>());
    });
    ParallelFor(args.x.rows(), kRowGrain, [&](int64_t begin, int64_t end) {
      RunBest<BackwardRows<Element>>(
          begin, end, args.x.cols(), x,
          static_cast<const Element*>(args.weight.data()), rstd, dy,
          args.dx.as<Element>());
    });
  });
  if (!args.dx_amax.present()) return absl::OkStatus();
  return float8::Amax(stream, args.dx, float8::Granularity::kTensor,
                      args.dx_amax);
}

}  // namespace octet::models::internal
