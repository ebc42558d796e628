// SPDX-License-Identifier: Apache-2.0

// CUDA's memory, copies and streams, registered at link time.
//
// Memory comes from cudaMalloc; copies and fills are queued on the stream given
// (null: the legacy default stream). No call needs a driver to be linked, and
// without one count() says so.
#include <cuda_runtime.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cuda_status.h"
#include "base/device_runtime.h"
#include "base/status_macros.h"

namespace octet {
namespace {

cudaStream_t Native(void* stream) { return static_cast<cudaStream_t>(stream); }

absl::StatusOr<int> Count() {
  int count = 0;  // left untouched on an error
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorNoDevice) return 0;
  OCTET_RETURN_IF_ERROR(CudaStatus(error, "looking for a GPU"));
  return count;
}

absl::StatusOr<std::string> Describe(int index) {
  cudaDeviceProp p;
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaGetDeviceProperties(&p, index),
                                   "cudaGetDeviceProperties"));
  return absl::StrFormat("%s, %.1f GiB, sm_%d%d", p.name,
                         static_cast<double>(p.totalGlobalMem) / (1 << 30),
                         p.major, p.minor);
}

absl::StatusOr<void*> Allocate(int index, int64_t bytes) {
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), "cudaSetDevice"));
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, std::max<int64_t>(bytes, 1));
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // clears it: the caller may go on with less
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot allocate ", bytes, " bytes on cuda:", index, ": ",
                     free, " of ", total, " are free"));
  }
  OCTET_RETURN_IF_ERROR(CudaStatus(error, "cudaMalloc"));
  return data;
}

void Free(int, void* data) { cudaFree(data); }

absl::StatusOr<void*> CreateStream(int index) {
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), "cudaSetDevice"));
  cudaStream_t stream = nullptr;
  OCTET_RETURN_IF_ERROR(
      CudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                 "cudaStreamCreate"));
  return static_cast<void*>(stream);
}

void DestroyStream(int, void* stream) { cudaStreamDestroy(Native(stream)); }

absl::Status Synchronize(int index, void* stream) {
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), "cudaSetDevice"));
  return CudaStatus(cudaStreamSynchronize(Native(stream)), "synchronize");
}

absl::Status CopyBytes(int index, void* stream, const void* from, void* to,
                       int64_t bytes) {
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), "cudaSetDevice"));
  return CudaStatus(
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, Native(stream)),
      "copy");
}

absl::Status Fill(int index, void* stream, void* data, uint8_t byte,
                  int64_t bytes) {
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), "cudaSetDevice"));
  return CudaStatus(cudaMemsetAsync(data, byte, bytes, Native(stream)), "fill");
}

constexpr DeviceRuntime kRuntime = {
    Count,         Describe,    Allocate,  Free, CreateStream,
    DestroyStream, Synchronize, CopyBytes, Fill,
};

[[maybe_unused]] const bool kRegistered =
    RegisterDeviceRuntime(DeviceKind::kCuda, kRuntime);

}  // namespace
}  // namespace octet
