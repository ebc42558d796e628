// SPDX-License-Identifier: Apache-2.0

// How benchmarks run and time work on either device.
#ifndef OCTET_TESTING_BENCHMARK_DEVICE_H_
#define OCTET_TESTING_BENCHMARK_DEVICE_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::testing {

// A stream on the device that $OCTET_TEST_DEVICE names; unset: "auto".
absl::StatusOr<Stream> BenchmarkStream();

// Normal random values on the stream's device: 2^20 of them, over and over, so
// that large tensors are made quickly.
absl::StatusOr<Tensor> BenchmarkTensor(const Stream& stream, DType dtype,
                                       const Shape& shape, uint64_t seed);

// Seconds of one call of `work`, which queues on `stream`: the median of single
// calls between two events, after two calls that are not counted. The stream is
// idle before each, so the time of queueing is in it where that is the longer:
// what a caller waits for. At least `min_calls`, and as many as fit into 0.1 s.
// A GPU that works without a pause soon falls to its power limit;
// $OCTET_BENCHMARK_REST_US is a pause before each call.
absl::StatusOr<double> SecondsPerCall(const Stream& stream,
                                      const std::function<absl::Status()>& work,
                                      int64_t min_calls = 10);

// The same for work that is captured as a graph: one launch.
absl::StatusOr<double> SecondsPerLaunch(
    const Stream& stream, const std::function<absl::Status()>& work,
    int64_t min_calls = 10);

// Seconds that the device works for one call, apart from the start of work on
// an idle one: of a graph of ten calls, divided by ten. What one call leaves in
// the device's caches the next one finds.
absl::StatusOr<double> DeviceSeconds(const Stream& stream,
                                     const std::function<absl::Status()>& work);

// Bytes read and written per second by copies on the stream's device: on a GPU
// of 4 GiB, on the CPU of `cpu_bytes` in all. The best of several, measured on
// the first call.
absl::StatusOr<double> CopyRate(const Stream& stream, int64_t cpu_bytes);

}  // namespace octet::testing

#endif  // OCTET_TESTING_BENCHMARK_DEVICE_H_
