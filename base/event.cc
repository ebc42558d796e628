// SPDX-License-Identifier: Apache-2.0
#include "base/event.h"

#include "absl/strings/str_cat.h"
#include "base/device_runtime.h"
#include "base/status_macros.h"

namespace octet {

absl::StatusOr<Event> Event::Create(Device device) {
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(device.kind));
  OCTET_ASSIGN_OR_RETURN(void* native, runtime->create_event(device.index));
  Event event;
  event.device_ = device;
  event.native_ = std::shared_ptr<void>(native, [runtime, device](void* e) {
    runtime->destroy_event(device.index, e);
  });
  return event;
}

absl::Status Event::Check(const Stream& stream) const {
  if (native_ == nullptr) {
    return absl::FailedPreconditionError("event: not created");
  }
  if (stream.device() != device_) {
    return absl::InvalidArgumentError(
        absl::StrCat("event: on ", device_.ToString(), ", the stream is on ",
                     stream.device().ToString()));
  }
  return absl::OkStatus();
}

absl::Status Event::Record(const Stream& stream) const {
  OCTET_RETURN_IF_ERROR(Check(stream));
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(device_.kind));
  return runtime->record_event(device_.index, stream.native(), native_.get());
}

absl::Status Event::Wait(const Stream& stream) const {
  OCTET_RETURN_IF_ERROR(Check(stream));
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(device_.kind));
  return runtime->wait_event(device_.index, stream.native(), native_.get());
}

absl::StatusOr<double> SecondsBetween(const Event& begin, const Event& end) {
  if (begin.native_ == nullptr || end.native_ == nullptr) {
    return absl::FailedPreconditionError("event: not created");
  }
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(begin.device_.kind));
  return runtime->seconds_between(begin.device_.index, begin.native_.get(),
                                  end.native_.get());
}

}  // namespace octet
