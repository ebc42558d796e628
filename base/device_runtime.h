// SPDX-License-Identifier: Apache-2.0

// What a kind of device must be able to do: memory, copies, streams, events,
// graphs.
//
// The CPU's is built in; linking //base:device_cuda registers CUDA's.
#ifndef OCTET_BASE_DEVICE_RUNTIME_H_
#define OCTET_BASE_DEVICE_RUNTIME_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/device.h"

namespace octet {

// Of all processes together.
struct DeviceMemory {
  int64_t free_bytes = 0;
  int64_t total_bytes = 0;
};

// At this moment.
struct DeviceSensors {
  double sm_mhz = 0;
  double watts = 0;
};

// A table of functions, all required unless they say otherwise. `stream` is the
// device's native handle (cudaStream_t), ignored on the CPU. Copies and fills
// are queued on it.
struct DeviceRuntime {
  // Number of usable devices; the error says why there is none.
  absl::StatusOr<int> (*count)();
  // "NVIDIA H200, 139.8 GiB, sm_90"
  absl::StatusOr<std::string> (*describe)(int index);
  // At least 256-byte aligned. ResourceExhausted names the bytes asked for.
  absl::StatusOr<void*> (*allocate)(int index, int64_t bytes);
  void (*free)(int index, void* data);
  absl::StatusOr<void*> (*create_stream)(int index);
  void (*destroy_stream)(int index, void* stream);
  absl::Status (*synchronize)(int index, void* stream);
  // Either side may be host memory.
  absl::Status (*copy)(int index, void* stream, const void* from, void* to,
                       int64_t bytes);
  absl::Status (*fill)(int index, void* stream, void* data, uint8_t byte,
                       int64_t bytes);
  // See event.h.
  absl::StatusOr<void*> (*create_event)(int index);
  void (*destroy_event)(int index, void* event);
  absl::Status (*record_event)(int index, void* stream, void* event);
  absl::Status (*wait_event)(int index, void* stream, void* event);
  absl::StatusOr<double> (*seconds_between)(int index, void* begin, void* end);
  // See graph.h; null where a graph is the work itself, to be done again.
  absl::Status (*begin_capture)(int index, void* stream);
  // Ends it whatever became of the work, so that the stream is usable again.
  absl::StatusOr<void*> (*end_capture)(int index, void* stream);
  absl::Status (*launch_graph)(int index, void* stream, void* graph);
  void (*destroy_graph)(int index, void* graph);
  // Null on the CPU, whose memory is the system's to tell.
  absl::StatusOr<DeviceMemory> (*memory)(int index);
  // Null on the CPU.
  absl::StatusOr<DeviceSensors> (*sensors)(int index);
};

// Called once, from a static initialiser of the leaf.
bool RegisterDeviceRuntime(DeviceKind kind, const DeviceRuntime& runtime);

// Unimplemented, naming the target to link, if the leaf is missing.
absl::StatusOr<const DeviceRuntime*> GetDeviceRuntime(DeviceKind kind);

}  // namespace octet

#endif  // OCTET_BASE_DEVICE_RUNTIME_H_
