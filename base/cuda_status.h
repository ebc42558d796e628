// SPDX-License-Identifier: Apache-2.0

// From CUDA's error codes to absl::Status. For CUDA leaves only.
#ifndef OCTET_BASE_CUDA_STATUS_H_
#define OCTET_BASE_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace octet {

// OK, or: FailedPrecondition where there is no driver or no GPU, or the call is
// not allowed while a graph is captured; ResourceExhausted when memory is
// short, else Internal. The message is `what`
// and CUDA's own text.
absl::Status CudaStatus(cudaError_t error, absl::string_view what);

}  // namespace octet

#endif  // OCTET_BASE_CUDA_STATUS_H_
