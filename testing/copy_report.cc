// SPDX-License-Identifier: Apache-2.0
#include "testing/copy_report.h"

#include <cstdint>
#include <string>

#include "testing/benchmark_device.h"

namespace octet::testing {

bool ReportBesideCopy(const Stream& stream, double bytes,
                      const absl::StatusOr<double>& seconds,
                      benchmark::State* state) {
  const absl::StatusOr<double> copy =
      CopyRate(stream, static_cast<int64_t>(bytes));
  if (!seconds.ok() || !copy.ok()) {
    const absl::Status& error = seconds.ok() ? copy.status() : seconds.status();
    state->SkipWithError(std::string(error.message()).c_str());
    return false;
  }
  state->SetIterationTime(*seconds);
  state->counters["GB/s"] = bytes / *seconds / 1e9;
  state->counters["copy_%"] = 100.0 * bytes / *seconds / *copy;
  return true;
}

}  // namespace octet::testing
