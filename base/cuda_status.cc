// SPDX-License-Identifier: Apache-2.0
#include "base/cuda_status.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/cuda_requirement.h"

namespace octet {

absl::Status CudaStatus(cudaError_t error, absl::string_view what) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string message =
      absl::StrCat(what, ": ", cudaGetErrorString(error));
  switch (error) {
    case cudaErrorInsufficientDriver: {
      int driver = 0, runtime = 0;  // a driver of 0: there is none
      cudaDriverGetVersion(&driver);
      cudaRuntimeGetVersion(&runtime);
      return DriverRequirement(driver, runtime, what,
                               cudaGetErrorString(error));
    }
    case cudaErrorStubLibrary:  // libcuda of a toolkit, in place of a driver's
      return DriverRequirement(0, 0, what, "");
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
  const ComputeCapability has = {has_major, has_minor};
  const ComputeCapability needs = {major, minor};
  absl::Status status = CapabilityRequirement(index, "a GPU", has, needs, what);
  cudaDeviceProp properties;  // slow to ask for: only for the message
  if (status.ok() ||
      cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
    return status;
  }
  return CapabilityRequirement(index, properties.name, has, needs, what);
}

}  // namespace octet
