// SPDX-License-Identifier: Apache-2.0

// Times one scaled product x w^T on a device.
//
// Operands are random (constant ones cost a GPU less power, and so are faster)
// and lie as the device wants them. On a GPU a time is of a graph of ten calls
// divided by ten (of two above 1e12 FLOP), and graphs are queued one behind the
// other, so that neither launching nor queueing is in it; the best algorithm
// and cuBLASLt's first guess are timed in turns, as the clock falls under load.
// On the CPU it is that of a call. Medians.
#ifndef OCTET_TOOLS_GEMM_SWEEP_MEASURE_H_
#define OCTET_TOOLS_GEMM_SWEEP_MEASURE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/stream.h"
#include "roofline/gemm_time.h"

namespace octet::tools {

struct GemmCase {
  roofline::GemmMode mode;
  int64_t m = 0, k = 0, n = 0;
};

struct MeasureOptions {
  double seconds = 0.2;  // for one case, after its warm-up
  DType out = DType::kBf16;
};

struct MeasuredGemm {
  double seconds = 0;
  std::optional<double> heuristic_seconds;  // absent on the CPU
};

// Medians of each, call by call in turns, for about `seconds` in all and at
// least five times. Each queues on the stream; on a GPU five rounds are queued
// at once, behind a call that is not timed.
absl::StatusOr<std::vector<double>> TimeInTurns(
    const Stream& stream,
    const std::vector<std::function<absl::Status()>>& works, double seconds);

// Unimplemented or InvalidArgument: the device does not multiply these;
// ResourceExhausted: memory, on the CPU before any is taken, with the bytes
// that are needed and those that are available.
absl::StatusOr<MeasuredGemm> MeasureGemm(const Stream& stream,
                                         const GemmCase& gemm,
                                         const MeasureOptions& options);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_GEMM_SWEEP_MEASURE_H_
