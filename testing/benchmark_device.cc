// SPDX-License-Identifier: Apache-2.0
#include "testing/benchmark_device.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/device.h"
#include "base/event.h"
#include "base/graph.h"
#include "base/status_macros.h"
#include "base/tensor.h"
#include "testing/memory_copy.h"
#include "testing/random_tensor.h"

namespace octet::testing {
namespace {

constexpr int64_t kCopyBytes = int64_t{4} << 30;
constexpr double kSeconds = 0.1;
constexpr int64_t kMaxCalls = 1000;

// Before each call, of $OCTET_BENCHMARK_REST_US microseconds; none by default.
std::chrono::microseconds Rest() {
  const char* text = std::getenv("OCTET_BENCHMARK_REST_US");
  return std::chrono::microseconds(text == nullptr ? 0 : std::atoll(text));
}

}  // namespace

absl::StatusOr<Stream> BenchmarkStream() {
  const char* name = std::getenv("OCTET_TEST_DEVICE");
  OCTET_ASSIGN_OR_RETURN(const Device device,
                         ResolveDevice(name == nullptr ? "auto" : name));
  return Stream::Create(device);
}

absl::StatusOr<Tensor> BenchmarkTensor(const Stream& stream, DType dtype,
                                       const Shape& shape, uint64_t seed) {
  constexpr int64_t kSome = 1 << 20;
  const int64_t n = shape.num_elements();
  OCTET_ASSIGN_OR_RETURN(
      const Tensor some,
      RandomTensor(dtype, Shape({std::min(n, kSome)}), seed));
  OCTET_ASSIGN_OR_RETURN(Tensor all,
                         Tensor::Allocate(dtype, shape, stream.device()));
  for (int64_t at = 0; at < n; at += kSome) {
    const Shape part({std::min(n - at, kSome)});
    const TensorView from(some.view().data(), dtype, part);
    const TensorView to(all.as<char>() + at * SizeOf(dtype), dtype, part,
                        stream.device());
    OCTET_RETURN_IF_ERROR(Copy(stream, from, to));
  }
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  return all;
}

absl::StatusOr<double> SecondsPerCall(const Stream& stream,
                                      const std::function<absl::Status()>& work,
                                      int64_t min_calls) {
  OCTET_ASSIGN_OR_RETURN(const Event begin, Event::Create(stream.device()));
  OCTET_ASSIGN_OR_RETURN(const Event end, Event::Create(stream.device()));
  OCTET_RETURN_IF_ERROR(work());
  OCTET_RETURN_IF_ERROR(work());
  std::vector<double> times;
  double total = 0.0;
  while (static_cast<int64_t>(times.size()) < min_calls ||
         (total < kSeconds && static_cast<int64_t>(times.size()) < kMaxCalls)) {
    OCTET_RETURN_IF_ERROR(stream.Synchronize());
    std::this_thread::sleep_for(Rest());
    OCTET_RETURN_IF_ERROR(begin.Record(stream));
    OCTET_RETURN_IF_ERROR(work());
    OCTET_RETURN_IF_ERROR(end.Record(stream));
    OCTET_ASSIGN_OR_RETURN(const double seconds, SecondsBetween(begin, end));
    times.push_back(seconds);
    total += seconds;
  }
  const auto median = times.begin() + static_cast<int64_t>(times.size() / 2);
  std::nth_element(times.begin(), median, times.end());
  return *median;
}

absl::StatusOr<double> SecondsPerLaunch(
    const Stream& stream, const std::function<absl::Status()>& work,
    int64_t min_calls) {
  OCTET_RETURN_IF_ERROR(work());
  OCTET_ASSIGN_OR_RETURN(const Graph graph, Graph::Capture(stream, work));
  return SecondsPerCall(
      stream, [&] { return graph.Launch(stream); }, min_calls);
}

absl::StatusOr<double> DeviceSeconds(
    const Stream& stream, const std::function<absl::Status()>& work) {
  constexpr int kCalls = 10;
  OCTET_ASSIGN_OR_RETURN(const double seconds,
                         SecondsPerLaunch(
                             stream,
                             [&]() -> absl::Status {
                               for (int i = 0; i < kCalls; ++i)
                                 OCTET_RETURN_IF_ERROR(work());
                               return absl::OkStatus();
                             },
                             /*min_calls=*/5));
  return seconds / kCalls;
}

absl::StatusOr<double> CopyRate(const Stream& stream, int64_t cpu_bytes) {
  if (stream.device().kind == DeviceKind::kCpu) {
    return MemoryCopyRate(cpu_bytes);
  }
  static double rate = 0.0;
  if (rate > 0.0) return rate;
  const Shape shape({kCopyBytes / 2});
  // Random bits: constant ones may cost less power, and so time.
  OCTET_ASSIGN_OR_RETURN(const Tensor from,
                         BenchmarkTensor(stream, DType::kBf16, shape, 1));
  OCTET_ASSIGN_OR_RETURN(
      const Tensor to, Tensor::Allocate(DType::kBf16, shape, stream.device()));
  const Event begin = *Event::Create(stream.device());
  const Event end = *Event::Create(stream.device());
  for (int i = 0; i < 12; ++i) {
    OCTET_RETURN_IF_ERROR(begin.Record(stream));
    OCTET_RETURN_IF_ERROR(Copy(stream, from, to));
    OCTET_RETURN_IF_ERROR(end.Record(stream));
    OCTET_ASSIGN_OR_RETURN(const double seconds, SecondsBetween(begin, end));
    rate = std::max(rate, 2.0 * static_cast<double>(kCopyBytes) / seconds);
  }
  return rate;
}

}  // namespace octet::testing
