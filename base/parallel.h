// SPDX-License-Identifier: Apache-2.0

// Splits a loop over the CPU's cores.
//
// Uses OpenMP, whose thread pool the CPU GEMM library shares, so the two never
// compete for cores. OMP_NUM_THREADS sets the number of threads.
#ifndef OCTET_BASE_PARALLEL_H_
#define OCTET_BASE_PARALLEL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace octet {

// Calls `body(begin, end)` on disjoint ranges that cover [0, n), each but the
// last a multiple of `grain` long, and waits. How it is split depends on the
// number of threads, so a body must give the same result for any split. Not
// reentrant in parallel: a nested call runs on its caller's thread.
void ParallelFor(int64_t n, int64_t grain,
                 absl::FunctionRef<void(int64_t begin, int64_t end)> body);

int NumThreads();

}  // namespace octet

#endif  // OCTET_BASE_PARALLEL_H_
