// SPDX-License-Identifier: Apache-2.0

// Names a device: the CPU, or one CUDA GPU.
#ifndef OCTET_BASE_DEVICE_H_
#define OCTET_BASE_DEVICE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace octet {

enum class DeviceKind : uint8_t { kCpu, kCuda };

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;

  bool operator==(const Device& o) const {
    return kind == o.kind && index == o.index;
  }
  bool operator!=(const Device& o) const { return !(*this == o); }
  // "cpu", "cuda:0"
  std::string ToString() const;
};

// Takes "cpu", "cuda", "cuda:N" and "auto" (a GPU if this program has the CUDA
// leaf linked and the machine has a GPU, else the CPU). InvalidArgument for
// another word; FailedPrecondition, with the reason, when CUDA is asked for by
// name and there is none.
absl::StatusOr<Device> ResolveDevice(absl::string_view name);

}  // namespace octet

#endif  // OCTET_BASE_DEVICE_H_
