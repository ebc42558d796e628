// SPDX-License-Identifier: Apache-2.0

// The launcher of Convert's kernels: plain pointers, for the leaf alone.
#ifndef OCTET_BASE_CONVERT_CUDA_KERNEL_H_
#define OCTET_BASE_CONVERT_CUDA_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace octet::internal {

enum class ConvertType : uint8_t { kF64, kF32, kBf16, kF16 };

// n > 0 elements, the types of convert.h's pairs; memory does not overlap.
cudaError_t LaunchConvert(const void* from, ConvertType from_type, void* to,
                          ConvertType to_type, int64_t n, cudaStream_t stream);

}  // namespace octet::internal

#endif  // OCTET_BASE_CONVERT_CUDA_KERNEL_H_
