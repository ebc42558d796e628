// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/parallel.h"
#include "models/layers/cross_entropy_kernel.h"
#include "models/layers/elements.h"

namespace octet::models::internal {
namespace {

// Gradient is the element type of dlogits.
template <typename Gradient>
struct LossRows {
  template <int kVectorBytes>
  static OCTET_ALWAYS_INLINE void Run(int64_t begin, int64_t end, int64_t vocab,
                                      const Math<Gradient>* logits,
                                      const int32_t* targets, double grad_scale,
                                      double* losses, Gradient* dlogits) {
    using T = Math<Gradient>;
    for (int64_t i = begin; i < end; ++i) {
      const T* row = logits + i * vocab;
      if (targets[i] == kIgnoreIndex) {
        losses[i] = 0.0;
        for (int64_t j = 0; dlogits != nullptr && j < vocab; ++j) {
          Store(T(0), &dlogits[i * vocab + j]);
        }
        continue;
      }
      T largest = row[0];
#pragma omp simd reduction(max : largest)
      for (int64_t j = 0; j < vocab; ++j) {
        largest = row[j] > largest ? row[j] : largest;
      }
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t j = 0; j < vocab; ++j) sum += Exp(row[j] - largest);
      const T target = row[targets[i]];
      losses[i] = std::log(static_cast<double>(sum)) +
                  (static_cast<double>(largest) - static_cast<double>(target));
      if (dlogits == nullptr) continue;
      Gradient* out = dlogits + i * vocab;
      const T scale = T(grad_scale) / sum;
      const T at_target = (Exp(target - largest) / sum - T(1)) * T(grad_scale);
#pragma omp simd
      for (int64_t j = 0; j < vocab; ++j) {
        Store(Exp(row[j] - largest) * scale, &out[j]);
      }
      Store(at_target, &out[targets[i]]);
    }
  }
};

template <typename Gradient>
void RunLoss(const CrossEntropyArgs& args) {
  ParallelFor(args.logits.rows(), 4, [&](int64_t begin, int64_t end) {
    RunBest<LossRows<Gradient>>(
        begin, end, args.logits.cols(),
        static_cast<const Math<Gradient>*>(args.logits.data()),
        static_cast<const int32_t*>(args.targets.data()), args.grad_scale,
        args.losses.as<double>(), args.dlogits.as<Gradient>());
  });
}

}  // namespace

absl::Status CrossEntropyCpu(const Stream&, const CrossEntropyArgs& args) {
  const int32_t* targets = args.targets.as<int32_t>();
  for (int64_t i = 0; i < args.logits.rows(); ++i) {
    if (targets[i] != kIgnoreIndex &&
        (targets[i] < 0 || targets[i] >= args.logits.cols())) {
      return absl::OutOfRangeError(
          absl::StrCat("cross_entropy: target ", i, " is ", targets[i],
                       ", the vocabulary has ", args.logits.cols(),
                       " entries (", kIgnoreIndex, " is ignored)"));
    }
  }
  if (args.logits.dtype() == DType::kF64) {
    RunLoss<double>(args);
  } else if (args.dlogits.dtype() == DType::kBf16) {
    RunLoss<Bfloat16>(args);
  } else {
    RunLoss<float>(args);
  }
  return absl::OkStatus();
}

}  // namespace octet::models::internal
