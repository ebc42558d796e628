// SPDX-License-Identifier: Apache-2.0
#include "testing/test_device.h"

#include <cstdlib>
#include <utility>

#include "base/device.h"
#include "base/device_runtime.h"
#include "base/status_macros.h"

namespace octet::testing {
namespace {

absl::StatusOr<Tensor> CopyTo(const Stream& stream, const TensorView& from,
                              Device to) {
  OCTET_ASSIGN_OR_RETURN(Tensor out,
                         Tensor::Allocate(from.dtype(), from.shape(), to));
  OCTET_RETURN_IF_ERROR(Copy(stream, from, out));
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  return out;
}

}  // namespace

absl::StatusOr<Stream> TestStream() {
  const char* name = std::getenv("OCTET_TEST_DEVICE");
  // Asked first, so that a missing leaf is Unimplemented and fails the test.
  if (name != nullptr && absl::string_view(name) != "cpu") {
    OCTET_RETURN_IF_ERROR(GetDeviceRuntime(DeviceKind::kCuda).status());
  }
  OCTET_ASSIGN_OR_RETURN(const Device device,
                         ResolveDevice(name == nullptr ? "cpu" : name));
  return Stream::Create(device);
}

absl::StatusOr<Tensor> ToDevice(const Stream& stream, const TensorView& host) {
  return CopyTo(stream, host, stream.device());
}

absl::StatusOr<Tensor> ToHost(const Stream& stream, const TensorView& device) {
  return CopyTo(stream, device, Device{});
}

}  // namespace octet::testing
