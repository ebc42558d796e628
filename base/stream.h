// SPDX-License-Identifier: Apache-2.0

// A queue of work on one device; it names the device for every operation.
//
// A Stream is a value that refers to a queue: copies refer to the same one. On
// the CPU each call has finished when it returns.
#ifndef OCTET_BASE_STREAM_H_
#define OCTET_BASE_STREAM_H_

#include <cstdint>
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
  void* native() const;

  // Waits for the queued work and returns its first error.
  absl::Status Synchronize() const;

  // Memory of the device, 256-byte aligned, for what is queued on this stream
  // until the next call: one call an operation. Work in stream order may share
  // it, so a larger request is the only one that allocates, and memory once
  // handed out lives as long as the stream: a captured graph may use it. Not
  // for several threads at once. FailedPrecondition on the CPU, whose kernels
  // have memory of their own.
  absl::StatusOr<void*> Scratch(int64_t bytes) const;

  // kCounters words of the device that are zero between operations: what is
  // queued on this stream and changes them also sets them back, as a kernel
  // does whose last block finishes the work of all. Else as Scratch, but memory
  // of its own, there after the first call.
  static constexpr int kCounters = 64;
  absl::StatusOr<uint32_t*> Counters() const;

 private:
  struct Queue;

  Device device_;
  std::shared_ptr<Queue> queue_;  // null on the CPU
};

}  // namespace octet

#endif  // OCTET_BASE_STREAM_H_
