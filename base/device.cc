// SPDX-License-Identifier: Apache-2.0
#include "base/device.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/device_runtime.h"
#include "base/status_macros.h"

namespace octet {
namespace {

absl::StatusOr<int> CudaCount() {
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(DeviceKind::kCuda));
  return runtime->count();
}

}  // namespace

std::string Device::ToString() const {
  return kind == DeviceKind::kCpu ? "cpu" : absl::StrCat("cuda:", index);
}

absl::StatusOr<Device> ResolveDevice(absl::string_view name) {
  if (name == "cpu") return Device{};
  if (name == "auto") {
    const absl::StatusOr<int> count = CudaCount();
    if (count.ok() && *count > 0) return Device{DeviceKind::kCuda, 0};
    return Device{};
  }
  Device device{DeviceKind::kCuda, 0};
  absl::string_view rest = name;
  if (!absl::ConsumePrefix(&rest, "cuda") ||
      !(rest.empty() || (absl::ConsumePrefix(&rest, ":") &&
                         absl::SimpleAtoi(rest, &device.index)))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown device '", name, "'; use auto, cpu, cuda or cuda:N"));
  }
  const absl::StatusOr<int> count = CudaCount();
  if (!count.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("device '", name, "': ", count.status().message()));
  }
  if (device.index < 0 || device.index >= *count) {
    return absl::FailedPreconditionError(absl::StrCat(
        "device '", name, "': this machine has ", *count, " GPU(s)"));
  }
  return device;
}

}  // namespace octet
