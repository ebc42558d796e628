// SPDX-License-Identifier: Apache-2.0
#include "base/stream.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/device_runtime.h"
#include "base/status_macros.h"

namespace octet {

struct Stream::Queue {
  Queue(const DeviceRuntime* runtime, int index, void* native)
      : runtime(runtime), index(index), native(native) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() {
    // Frees after the queued work that uses it.
    for (void* data : scratch) runtime->free(index, data);
    if (counters != nullptr) runtime->free(index, counters);
    runtime->destroy_stream(index, native);
  }

  const DeviceRuntime* runtime;
  int index;
  void* native;
  std::vector<void*> scratch;  // the last one is in use
  int64_t scratch_bytes = 0;   // of the last one
  void* counters = nullptr;
};

absl::StatusOr<Stream> Stream::Create(Device device) {
  Stream stream;
  stream.device_ = device;
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(device.kind));
  OCTET_ASSIGN_OR_RETURN(void* native, runtime->create_stream(device.index));
  if (native != nullptr) {
    stream.queue_ = std::make_shared<Queue>(runtime, device.index, native);
  }
  return stream;
}

void* Stream::native() const {
  return queue_ == nullptr ? nullptr : queue_->native;
}

absl::Status Stream::Synchronize() const {
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(device_.kind));
  return runtime->synchronize(device_.index, native());
}

absl::StatusOr<void*> Stream::Scratch(int64_t bytes) const {
  if (queue_ == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("scratch: a stream on ", device_.ToString(), " has none"));
  }
  if (queue_->scratch.empty() || bytes > queue_->scratch_bytes) {
    // Doubles, so that what smaller requests leave behind stays below it.
    const int64_t grown = std::max(bytes, 2 * queue_->scratch_bytes);
    OCTET_ASSIGN_OR_RETURN(void* data,
                           queue_->runtime->allocate(queue_->index, grown));
    queue_->scratch.push_back(data);
    queue_->scratch_bytes = grown;
  }
  return queue_->scratch.back();
}

absl::StatusOr<uint32_t*> Stream::Counters() const {
  if (queue_ == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "counters: a stream on ", device_.ToString(), " has none"));
  }
  if (queue_->counters == nullptr) {
    constexpr int64_t kBytes = kCounters * sizeof(uint32_t);
    OCTET_ASSIGN_OR_RETURN(void* data,
                           queue_->runtime->allocate(queue_->index, kBytes));
    queue_->counters = data;
    OCTET_RETURN_IF_ERROR(
        queue_->runtime->fill(queue_->index, queue_->native, data, 0, kBytes));
  }
  return static_cast<uint32_t*>(queue_->counters);
}

}  // namespace octet
