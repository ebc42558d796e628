// SPDX-License-Identifier: Apache-2.0

// A point in a stream's work: other streams wait for it, and two of them tell
// the time between. On the CPU, where work has finished when it was queued, a
// moment.
#ifndef OCTET_BASE_EVENT_H_
#define OCTET_BASE_EVENT_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/device.h"
#include "base/stream.h"

namespace octet {

// Refers to an event of the device; copies refer to the same one.
class Event {
 public:
  static absl::StatusOr<Event> Create(Device device);

  // Now stands behind the work queued on `stream` so far. InvalidArgument if
  // that is on another device.
  absl::Status Record(const Stream& stream) const;
  // What is queued on `stream` from now on starts after this event.
  absl::Status Wait(const Stream& stream) const;

 private:
  friend absl::StatusOr<double> SecondsBetween(const Event& begin,
                                               const Event& end);
  absl::Status Check(const Stream& stream) const;

  Device device_;
  std::shared_ptr<void> native_;
};

// Waits until both have been reached. Both were recorded, on one device.
absl::StatusOr<double> SecondsBetween(const Event& begin, const Event& end);

}  // namespace octet

#endif  // OCTET_BASE_EVENT_H_
