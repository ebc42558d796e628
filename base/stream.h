// SPDX-License-Identifier: Apache-2.0

// A queue of work on one device; it names the device for every operation.
//
// A Stream is a value that refers to a queue: copies refer to the same one. On
// the CPU each call has finished when it returns.
#ifndef OCTET_BASE_STREAM_H_
#define OCTET_BASE_STREAM_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/device.h"

namespace octet {

class Stream {
 public:
  // The CPU's.
  Stream() = default;

  // A new queue on `device`, destroyed with its last copy.
  static absl::StatusOr<Stream> Create(Device device);

  Device device() const { return device_; }
  // cudaStream_t on CUDA, null on the CPU.
  void* native() const { return native_.get(); }

  // Waits for the queued work and returns its first error.
  absl::Status Synchronize() const;

 private:
  Device device_;
  std::shared_ptr<void> native_;
};

}  // namespace octet

#endif  // OCTET_BASE_STREAM_H_
