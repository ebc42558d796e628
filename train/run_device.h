// SPDX-License-Identifier: Apache-2.0

// What a run asks of its device: memory, and the choice of its algorithms.
#ifndef OCTET_TRAIN_RUN_DEVICE_H_
#define OCTET_TRAIN_RUN_DEVICE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/device.h"
#include "train/metrics.h"

namespace octet::train {

// Bytes that a job can have: a GPU's free memory, or AvailableMemory of the
// machine; nothing where neither is told, outside Linux.
absl::StatusOr<std::optional<double>> FreeMemory(const Device& device);

// memory_gib: peak resident memory of this process, or what is taken of a GPU's
// by all processes, as a run allocates once and keeps it. A GPU's clock and
// power, where the driver tells them.
absl::Status ReadDevice(const Device& device, StepMetrics* metrics);

// float8.gemm_cache_path: what an earlier run measured, if the file is there;
// "12 products from PATH". Nothing on a CPU or without a path.
absl::StatusOr<std::string> LoadGemmCache(const Device& device,
                                          const std::string& path);
absl::Status SaveGemmCache(const Device& device, const std::string& path);

// For shapes that come once each, as in sampling: nothing is measured.
absl::Status StopMeasuringGemms(const Device& device);

}  // namespace octet::train

#endif  // OCTET_TRAIN_RUN_DEVICE_H_
