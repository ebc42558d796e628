// SPDX-License-Identifier: Apache-2.0

// How much memory of the machine this process may still take.
#ifndef OCTET_BASE_AVAILABLE_MEMORY_H_
#define OCTET_BASE_AVAILABLE_MEMORY_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace octet {

// Bytes: MemAvailable of /proc/meminfo, or the limit of this process's control
// group where that is lower. `root` stands before the paths, for tests.
// NotFound where no such file can be read.
absl::StatusOr<double> AvailableMemory(absl::string_view root = "");

}  // namespace octet

#endif  // OCTET_BASE_AVAILABLE_MEMORY_H_
