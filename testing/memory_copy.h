// SPDX-License-Identifier: Apache-2.0

// What benchmarks of memory-bound work are a percentage of.
#ifndef OCTET_TESTING_MEMORY_COPY_H_
#define OCTET_TESTING_MEMORY_COPY_H_

#include <cstdint>

namespace octet::testing {

// Bytes read and written per second by copies within a buffer pair of `bytes`
// in all, on the threads that ParallelFor uses: the best of several, measured
// on the first call for that size.
double MemoryCopyRate(int64_t bytes);

}  // namespace octet::testing

#endif  // OCTET_TESTING_MEMORY_COPY_H_
