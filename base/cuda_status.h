// SPDX-License-Identifier: Apache-2.0

// From CUDA's error codes to absl::Status. For CUDA leaves only.
#ifndef OCTET_BASE_CUDA_STATUS_H_
#define OCTET_BASE_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace octet {

// OK, or: FailedPrecondition where there is no driver, one that is too old,
// no GPU or no code for this GPU, or the call is not allowed while a graph is
// captured; ResourceExhausted when memory is short, else Internal. The message
// is `what` and CUDA's own text.
absl::Status CudaStatus(cudaError_t error, absl::string_view what);

// FailedPrecondition, with the GPU's name and both capabilities, unless GPU
// `index` has compute capability major.minor or a later one. For a leaf to call
// where it first meets a GPU; cheap.
absl::Status CheckComputeCapability(int index, int major, int minor,
                                    absl::string_view what);

}  // namespace octet

#endif  // OCTET_BASE_CUDA_STATUS_H_
