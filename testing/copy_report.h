// SPDX-License-Identifier: Apache-2.0

// What a benchmark says of work that is bound by memory.
#ifndef OCTET_TESTING_COPY_REPORT_H_
#define OCTET_TESTING_COPY_REPORT_H_

#include "absl/status/statusor.h"
#include "base/stream.h"
#include "benchmark/benchmark.h"

namespace octet::testing {

// One iteration of `seconds` that moves `bytes`, with "GB/s" and "copy_%", its
// share of CopyRate. False, and the benchmark skipped with the message, for an
// error.
bool ReportBesideCopy(const Stream& stream, double bytes,
                      const absl::StatusOr<double>& seconds,
                      benchmark::State* state);

}  // namespace octet::testing

#endif  // OCTET_TESTING_COPY_REPORT_H_
