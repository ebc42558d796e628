// SPDX-License-Identifier: Apache-2.0

// CUDA's memory, copies, streams, events and graphs, registered at link time.
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
#include "base/nvml_cuda.h"
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
  // Where each use of a GPU begins: kernels for older ones are not built.
  OCTET_RETURN_IF_ERROR(CheckComputeCapability(index, 9, 0, "stream"));
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

absl::StatusOr<void*> CreateEvent(int index) {
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), "cudaSetDevice"));
  cudaEvent_t event = nullptr;
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaEventCreate(&event), "cudaEventCreate"));
  return static_cast<void*>(event);
}

void DestroyEvent(int, void* event) {
  cudaEventDestroy(static_cast<cudaEvent_t>(event));
}

absl::Status RecordEvent(int, void* stream, void* event) {
  return CudaStatus(
      cudaEventRecord(static_cast<cudaEvent_t>(event), Native(stream)),
      "recording an event");
}

absl::Status WaitEvent(int, void* stream, void* event) {
  return CudaStatus(
      cudaStreamWaitEvent(Native(stream), static_cast<cudaEvent_t>(event)),
      "waiting for an event");
}

absl::StatusOr<double> SecondsBetween(int, void* begin, void* end) {
  OCTET_RETURN_IF_ERROR(
      CudaStatus(cudaEventSynchronize(static_cast<cudaEvent_t>(end)),
                 "waiting for an event"));
  float milliseconds = 0.0f;
  OCTET_RETURN_IF_ERROR(CudaStatus(
      cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(begin),
                           static_cast<cudaEvent_t>(end)),
      "time between two events"));
  return static_cast<double>(milliseconds) / 1e3;
}

absl::Status BeginCapture(int index, void* stream) {
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), "cudaSetDevice"));
  return CudaStatus(
      cudaStreamBeginCapture(Native(stream), cudaStreamCaptureModeThreadLocal),
      "capturing a graph");
}

absl::StatusOr<void*> EndCapture(int, void* stream) {
  cudaGraph_t graph = nullptr;
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaStreamEndCapture(Native(stream), &graph),
                                   "capturing a graph"));
  cudaGraphExec_t executable = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  OCTET_RETURN_IF_ERROR(CudaStatus(error, "instantiating a graph"));
  return static_cast<void*>(executable);
}

absl::Status LaunchGraph(int, void* stream, void* graph) {
  return CudaStatus(
      cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), Native(stream)),
      "launching a graph");
}

void DestroyGraph(int, void* graph) {
  cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
}

absl::StatusOr<DeviceMemory> Memory(int index) {
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), "cudaSetDevice"));
  size_t free = 0, total = 0;
  OCTET_RETURN_IF_ERROR(
      CudaStatus(cudaMemGetInfo(&free, &total), "cudaMemGetInfo"));
  return DeviceMemory{static_cast<int64_t>(free), static_cast<int64_t>(total)};
}

constexpr DeviceRuntime kRuntime = {
    Count,         Describe,    Allocate,     Free,           CreateStream,
    DestroyStream, Synchronize, CopyBytes,    Fill,           CreateEvent,
    DestroyEvent,  RecordEvent, WaitEvent,    SecondsBetween, BeginCapture,
    EndCapture,    LaunchGraph, DestroyGraph, Memory,         ReadSensors,
};

[[maybe_unused]] const bool kRegistered =
    RegisterDeviceRuntime(DeviceKind::kCuda, kRuntime);

}  // namespace
}  // namespace octet
