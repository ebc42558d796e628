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
    case cudaErrorNoKernelImageForDevice:
      return absl::FailedPreconditionError(absl::StrCat(
          message, " (this program was built for other GPUs: --cuda_archs)"));
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

absl::Status CheckComputeCapability(int index, int major, int minor,
                                    absl::string_view what) {
  int has_major = 0, has_minor = 0;
  cudaError_t error = cudaDeviceGetAttribute(
      &has_major, cudaDevAttrComputeCapabilityMajor, index);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&has_minor,
                                   cudaDevAttrComputeCapabilityMinor, index);
  }
  if (error != cudaSuccess) {
    return CudaStatus(error, absl::StrCat(what, ": compute capability"));
  }
  if (has_major > major || (has_major == major && has_minor >= minor)) {
    return absl::OkStatus();
  }
  cudaDeviceProp properties;
  const bool has_name =
      cudaGetDeviceProperties(&properties, index) == cudaSuccess;
  return absl::FailedPreconditionError(absl::StrCat(
      what, ": cuda:", index, " is ", has_name ? properties.name : "a GPU",
      " of compute capability ", has_major, ".", has_minor, ", needs ", major,
      ".", minor, " or later"));
}

}  // namespace octet
