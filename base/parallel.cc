// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <algorithm>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "base/shape.h"

namespace octet {

int NumThreads() {
#if defined(_OPENMP)
  return omp_get_max_threads();
#else
  return 1;
#endif
}

void ParallelFor(int64_t n, int64_t grain,
                 absl::FunctionRef<void(int64_t begin, int64_t end)> body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t chunks = CeilDiv(n, grain);
  [[maybe_unused]] const int64_t threads =
      std::min<int64_t>(NumThreads(), chunks);
#if defined(_OPENMP)
  if (threads > 1 && !omp_in_parallel()) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int64_t t = 0; t < threads; ++t) {
      const int64_t begin = chunks * t / threads * grain;
      const int64_t end = std::min(n, chunks * (t + 1) / threads * grain);
      if (begin < end) body(begin, end);
    }
    return;
  }
#endif
  body(0, n);
}

}  // namespace octet
