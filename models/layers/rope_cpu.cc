// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "base/parallel.h"
#include "float8/amax.h"
#include "models/layers/elements.h"
#include "models/layers/rope_kernel.h"

namespace octet::models::internal {
namespace {

template <typename Element>
struct Rotate {
  // Rows [begin, end) of [batch * length, heads, 2 half]; sign is 1 forward and
  // -1 backward.
  template <int kVectorBytes>
  static OCTET_ALWAYS_INLINE void Run(int64_t begin, int64_t end,
                                      int64_t length, int64_t heads,
                                      int64_t half, Math<Element> sign,
                                      const Math<Element>* table, Element* x) {
    using T = Math<Element>;
    for (int64_t row = begin; row < end; ++row) {
      const T* cosine = table + row % length * 2 * half;
      const T* sine = cosine + half;
      for (int64_t h = 0; h < heads; ++h) {
        Element* low = x + (row * heads + h) * 2 * half;
        Element* high = low + half;
#pragma omp simd
        for (int64_t i = 0; i < half; ++i) {
          const T a = Load(low[i]);
          const T b = Load(high[i]);
          const T s = sine[i] * sign;
          Store(a * cosine[i] - b * s, &low[i]);
          Store(b * cosine[i] + a * s, &high[i]);
        }
      }
    }
  }
};

}  // namespace

absl::Status RopeCpu(const Stream& stream, const TensorView& table,
                     RopeDirection direction, const TensorView& x,
                     const TensorView& amax) {
  const Shape& shape = x.shape();
  VisitElement(x.dtype(), [&](auto element) {
    using Element = decltype(element);
    using T = Math<Element>;
    ParallelFor(shape.dim(0) * shape.dim(1), 16,
                [&](int64_t begin, int64_t end) {
                  RunBest<Rotate<Element>>(
                      begin, end, shape.dim(1), shape.dim(2), shape.dim(3) / 2,
                      direction == RopeDirection::kForward ? T(1) : T(-1),
                      static_cast<const T*>(table.data()), x.as<Element>());
                });
  });
  if (!amax.present()) return absl::OkStatus();
  // As one row of x's bytes as they lie.
  return float8::Amax(stream, x.Reshaped(Shape({1, x.num_elements()})),
                      float8::Granularity::kTensor, amax);
}

}  // namespace octet::models::internal
