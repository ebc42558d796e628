// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "base/parallel.h"
#include "base/status_macros.h"
#include "float8/amax.h"
#include "models/layers/elements.h"
#include "models/layers/swiglu_kernel.h"

namespace octet::models::internal {
namespace {

constexpr int64_t kGrain = 1 << 13;

template <typename Element>
struct Forward {
  template <int kVectorBytes>
  static OCTET_ALWAYS_INLINE void Run(int64_t begin, int64_t end,
                                      const Element* gate, const Element* up,
                                      Element* y) {
    using T = Math<Element>;
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const T z = Load(gate[i]);
      Store(z / (T(1) + Exp(-z)) * Load(up[i]), &y[i]);
    }
  }
};

template <typename Element>
struct Backward {
  template <int kVectorBytes>
  static OCTET_ALWAYS_INLINE void Run(int64_t begin, int64_t end,
                                      const Element* gate, const Element* up,
                                      const Element* dy, Element* dgate,
                                      Element* dup) {
    using T = Math<Element>;
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const T z = Load(gate[i]);
      const T u = Load(up[i]);
      const T g = Load(dy[i]);
      const T sigmoid = T(1) / (T(1) + Exp(-z));
      const T silu = z * sigmoid;
      Store(g * u * (sigmoid + silu * (T(1) - sigmoid)), &dgate[i]);
      Store(g * silu, &dup[i]);
    }
  }
};

absl::Status TakeAmax(const Stream& stream, const TensorView& of,
                      const TensorView& amax) {
  if (!amax.present()) return absl::OkStatus();
  return float8::Amax(stream, of, float8::Granularity::kTensor, amax);
}

}  // namespace

absl::Status SwigluForwardCpu(const Stream& stream,
                              const SwigluForwardArgs& args) {
  VisitElement(args.gate.dtype(), [&](auto element) {
    using Element = decltype(element);
    ParallelFor(args.gate.num_elements(), kGrain,
                [&](int64_t begin, int64_t end) {
                  RunBest<Forward<Element>>(
                      begin, end, static_cast<const Element*>(args.gate.data()),
                      static_cast<const Element*>(args.up.data()),
                      args.y.as<Element>());
                });
  });
  return TakeAmax(stream, args.y, args.amax);
}

absl::Status SwigluBackwardCpu(const Stream& stream,
                               const SwigluBackwardArgs& args) {
  VisitElement(args.gate.dtype(), [&](auto element) {
    using Element = decltype(element);
    ParallelFor(args.gate.num_elements(), kGrain,
                [&](int64_t begin, int64_t end) {
                  RunBest<Backward<Element>>(
                      begin, end, static_cast<const Element*>(args.gate.data()),
                      static_cast<const Element*>(args.up.data()),
                      static_cast<const Element*>(args.dy.data()),
                      args.dgate.as<Element>(), args.dup.as<Element>());
                });
  });
  OCTET_RETURN_IF_ERROR(TakeAmax(stream, args.dgate, args.dgate_amax));
  return TakeAmax(stream, args.dup, args.dup_amax);
}

}  // namespace octet::models::internal
