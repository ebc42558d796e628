// SPDX-License-Identifier: Apache-2.0
#include "base/cuda_status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace octet {

absl::Status CudaStatus(cudaError_t error, absl::string_view what) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string message =
      absl::StrCat(what, ": ", cudaGetErrorString(error));
  switch (error) {
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
      return absl::FailedPreconditionError(message);
    case cudaErrorMemoryAllocation:
      return absl::ResourceExhaustedError(message);
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
      return absl::FailedPreconditionError(
          absl::StrCat(message,
                       " (run the work once before capturing it: first use "
                       "allocates and measures)"));
    default:
      return absl::InternalError(message);
  }
}

}  // namespace octet
