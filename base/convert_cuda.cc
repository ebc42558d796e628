// SPDX-License-Identifier: Apache-2.0

// Fills the conversion's slot for CUDA. Arguments were checked by convert.cc.
#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/convert_cuda_kernel.h"
#include "base/convert_kernel.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"

namespace octet::internal {
namespace {

ConvertType TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return ConvertType::kF64;
    case DType::kBf16:
      return ConvertType::kBf16;
    case DType::kF16:
      return ConvertType::kF16;
    default:
      return ConvertType::kF32;
  }
}

absl::Status ConvertCuda(const Stream& stream, const TensorView& from,
                         const TensorView& to) {
  OCTET_RETURN_IF_ERROR(
      CudaStatus(cudaSetDevice(stream.device().index), "cudaSetDevice"));
  return CudaStatus(LaunchConvert(from.data(), TypeOf(from.dtype()), to.data(),
                                  TypeOf(to.dtype()), from.num_elements(),
                                  static_cast<cudaStream_t>(stream.native())),
                    absl::StrCat("convert of ", from.ToString()));
}

[[maybe_unused]] const bool kRegistered =
    ConvertSlot().Register(DeviceKind::kCuda, &ConvertCuda);

}  // namespace
}  // namespace octet::internal
