// SPDX-License-Identifier: Apache-2.0

// What was measured, from files: of linear layers and of a run.
//
// Errors start with the file's path; NotFound if it is missing, DataLoss for
// what is not as described.
#ifndef OCTET_TOOLS_ROOFLINE_INPUT_MEASUREMENTS_H_
#define OCTET_TOOLS_ROOFLINE_INPUT_MEASUREMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "roofline/polynomial.h"

namespace octet::tools {

// One linear layer, forward and backward.
struct LinearMeasurement {
  std::string recipe;
  roofline::Sizes sizes;
  double seconds = 0;
};

// JSON of Google Benchmark from //float8:linear_benchmark
// (--benchmark_format=json): names "tensorwise/M16/K4096/N4096/...", times in
// the counter `counter`, microseconds. Benchmarks that failed, and aggregates,
// are left out; DataLoss if none remains.
absl::StatusOr<std::vector<LinearMeasurement>> ReadBenchmarkJson(
    const std::string& path, absl::string_view counter);

// Columns recipe, M, K, N, seconds.
absl::StatusOr<std::vector<LinearMeasurement>> ReadMeasuredCsv(
    const std::string& path);

// Medians over the steps of a run.
struct RunMeasurement {
  int64_t steps = 0;
  double seconds = 0;  // of a step
  double tokens_per_second = 0;
  double tokens = 0;  // of a step, all GPUs
  double tflops = 0;
  double memory_gib = 0;  // the largest
  int64_t half_line = 0;  // of the file, left out; 0: none
};

// metrics.jsonl of //tools:train, without the first `skip` lines, which warm
// up. A last line that is no JSON is what a run left that was killed, and is
// left out. DataLoss if no step remains, or where a number is not above 0.
absl::StatusOr<RunMeasurement> ReadMetrics(const std::string& path,
                                           int64_t skip);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_INPUT_MEASUREMENTS_H_
