// SPDX-License-Identifier: Apache-2.0

// What a program needs of a machine for CUDA, put into words. Calls nothing of
// CUDA, so that it can be tested without a GPU; cuda_status.h asks CUDA.
#ifndef OCTET_BASE_CUDA_REQUIREMENT_H_
#define OCTET_BASE_CUDA_REQUIREMENT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace octet {

// Why CUDA does not run at all: FailedPrecondition for no driver (`driver` is
// 0) or one that is too old. Versions are CUDA's numbers, 12090 for 12.9:
// cudaDriverGetVersion, and cudaRuntimeGetVersion of this program, which needs
// a driver of its own major version. `otherwise` is the message where the
// driver is new enough: its libcuda is a stub, or hides another fault.
absl::Status DriverRequirement(int driver, int runtime, absl::string_view what,
                               absl::string_view otherwise);

struct ComputeCapability {
  int major = 0;
  int minor = 0;
};

// FailedPrecondition, with the GPU's name and both, where `has` is less than
// `needs`.
absl::Status CapabilityRequirement(int index, absl::string_view gpu,
                                   ComputeCapability has,
                                   ComputeCapability needs,
                                   absl::string_view what);

}  // namespace octet

#endif  // OCTET_BASE_CUDA_REQUIREMENT_H_
