// SPDX-License-Identifier: Apache-2.0

// A GPU's clock and power, from the driver's management library, which is
// opened when it is asked for first: programs start where it is missing.
#ifndef OCTET_BASE_NVML_CUDA_H_
#define OCTET_BASE_NVML_CUDA_H_

#include "absl/status/statusor.h"
#include "base/device_runtime.h"

namespace octet {

// Of CUDA device `index`. NotFound where there is no library, Unavailable with
// its error otherwise.
absl::StatusOr<DeviceSensors> ReadSensors(int index);

}  // namespace octet

#endif  // OCTET_BASE_NVML_CUDA_H_
