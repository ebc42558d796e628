// SPDX-License-Identifier: Apache-2.0
#include "base/device_runtime.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace octet {
namespace {

constexpr int64_t kAlignment = 256;

absl::StatusOr<void*> CpuAllocate(int, int64_t bytes) {
  const int64_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* data =
      std::aligned_alloc(kAlignment, padded == 0 ? kAlignment : padded);
  if (data == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot allocate ", bytes, " bytes on the CPU"));
  }
  return data;
}

// Work has finished when it was queued, so an event is a moment.
using Moment = std::chrono::steady_clock::time_point;

Moment& MomentOf(void* event) { return *static_cast<Moment*>(event); }

constexpr DeviceRuntime kCpuRuntime = {
    /*count=*/[]() -> absl::StatusOr<int> { return 1; },
    /*describe=*/
    [](int) -> absl::StatusOr<std::string> { return std::string("CPU"); },
    /*allocate=*/CpuAllocate,
    /*free=*/[](int, void* data) { std::free(data); },
    /*create_stream=*/[](int) -> absl::StatusOr<void*> { return nullptr; },
    /*destroy_stream=*/[](int, void*) {},
    /*synchronize=*/[](int, void*) { return absl::OkStatus(); },
    /*copy=*/
    [](int, void*, const void* from, void* to, int64_t bytes) {
      if (bytes > 0) std::memmove(to, from, bytes);
      return absl::OkStatus();
    },
    /*fill=*/
    [](int, void*, void* data, uint8_t byte, int64_t bytes) {
      if (bytes > 0) std::memset(data, byte, bytes);
      return absl::OkStatus();
    },
    /*create_event=*/
    [](int) -> absl::StatusOr<void*> { return new Moment(); },
    /*destroy_event=*/[](int, void* event) { delete &MomentOf(event); },
    /*record_event=*/
    [](int, void*, void* event) {
      MomentOf(event) = std::chrono::steady_clock::now();
      return absl::OkStatus();
    },
    /*wait_event=*/[](int, void*, void*) { return absl::OkStatus(); },
    /*seconds_between=*/
    [](int, void* begin, void* end) -> absl::StatusOr<double> {
      return std::chrono::duration<double>(MomentOf(end) - MomentOf(begin))
          .count();
    },
    /*begin_capture=*/nullptr,
    /*end_capture=*/nullptr,
    /*launch_graph=*/nullptr,
    /*destroy_graph=*/nullptr,
    /*memory=*/nullptr,
    /*sensors=*/nullptr,
};

// Filled by a static initialiser, read afterwards.
DeviceRuntime& CudaRuntime() {
  static DeviceRuntime runtime = {};
  return runtime;
}

}  // namespace

bool RegisterDeviceRuntime(DeviceKind kind, const DeviceRuntime& runtime) {
  if (kind != DeviceKind::kCuda) return false;
  CudaRuntime() = runtime;
  return true;
}

absl::StatusOr<const DeviceRuntime*> GetDeviceRuntime(DeviceKind kind) {
  if (kind == DeviceKind::kCpu) return &kCpuRuntime;
  if (CudaRuntime().count == nullptr) {
    return absl::UnimplementedError(
        "this program was built without CUDA: link //base:device_cuda");
  }
  return &CudaRuntime();
}

}  // namespace octet
