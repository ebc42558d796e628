// SPDX-License-Identifier: Apache-2.0
#include "base/stream.h"

#include "base/device_runtime.h"
#include "base/status_macros.h"

namespace octet {

absl::StatusOr<Stream> Stream::Create(Device device) {
  Stream stream;
  stream.device_ = device;
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(device.kind));
  OCTET_ASSIGN_OR_RETURN(void* native, runtime->create_stream(device.index));
  if (native != nullptr) {
    stream.native_ = std::shared_ptr<void>(native, [runtime, device](void* s) {
      runtime->destroy_stream(device.index, s);
    });
  }
  return stream;
}

absl::Status Stream::Synchronize() const {
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(device_.kind));
  return runtime->synchronize(device_.index, native());
}

}  // namespace octet
