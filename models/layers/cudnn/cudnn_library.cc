// SPDX-License-Identifier: Apache-2.0
#include "models/layers/cudnn/cudnn_library.h"

#include <dlfcn.h>
#include <nvrtc.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace octet::models::internal {
namespace {

// Functions are declared by cudnn.h; each has its type there.
struct Functions {
  std::string problem;  // empty: all are there
  decltype(&cudnnGetVersion) get_version;
  decltype(&cudnnGetErrorString) get_error_string;
  decltype(&cudnnGetLastErrorString) get_last_error_string;
  decltype(&cudnnCreate) create;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnGetStream) get_stream;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendSetAttribute) set_attribute;
  decltype(&cudnnBackendGetAttribute) get_attribute;
  decltype(&cudnnBackendExecute) execute;
};

template <typename Function>
void Find(void* library, const char* name, Function* function, Functions* all) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function == nullptr) {
    all->problem = absl::StrCat("libcudnn.so.9 has no ", name);
  }
}

Functions Load() {
  Functions f = {};
  void* const library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    f.problem = reason == nullptr ? "libcudnn.so.9 was not found" : reason;
    return f;
  }
  Find(library, "cudnnGetVersion", &f.get_version, &f);
  Find(library, "cudnnGetErrorString", &f.get_error_string, &f);
  Find(library, "cudnnGetLastErrorString", &f.get_last_error_string, &f);
  Find(library, "cudnnCreate", &f.create, &f);
  Find(library, "cudnnSetStream", &f.set_stream, &f);
  Find(library, "cudnnGetStream", &f.get_stream, &f);
  Find(library, "cudnnBackendCreateDescriptor", &f.create_descriptor, &f);
  Find(library, "cudnnBackendDestroyDescriptor", &f.destroy_descriptor, &f);
  Find(library, "cudnnBackendFinalize", &f.finalize, &f);
  Find(library, "cudnnBackendSetAttribute", &f.set_attribute, &f);
  Find(library, "cudnnBackendGetAttribute", &f.get_attribute, &f);
  Find(library, "cudnnBackendExecute", &f.execute, &f);
  return f;
}

const Functions& Cudnn() {
  static const Functions* const functions = new Functions(Load());
  return *functions;
}

bool IsThere() { return Cudnn().problem.empty(); }

}  // namespace

absl::Status CudnnLibraryStatus() {
  if (IsThere()) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("cuDNN: ", Cudnn().problem));
}

}  // namespace octet::models::internal

// Hidden, so that libcudnn's own parts, which call each other by these names,
// never find these.
#define OCTET_CUDNN_FUNCTION __attribute__((visibility("hidden")))
using octet::models::internal::Cudnn;
using octet::models::internal::IsThere;

extern "C" {

OCTET_CUDNN_FUNCTION size_t cudnnGetVersion() {
  return IsThere() ? Cudnn().get_version() : 0;
}

OCTET_CUDNN_FUNCTION const char* cudnnGetErrorString(cudnnStatus_t status) {
  return IsThere() ? Cudnn().get_error_string(status) : "cuDNN is not there";
}

OCTET_CUDNN_FUNCTION void cudnnGetLastErrorString(char* message, size_t size) {
  if (IsThere()) {
    Cudnn().get_last_error_string(message, size);
  } else if (size > 0) {
    message[0] = '\0';
  }
}

OCTET_CUDNN_FUNCTION cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return IsThere() ? Cudnn().create(handle) : CUDNN_STATUS_NOT_INITIALIZED;
}

OCTET_CUDNN_FUNCTION cudnnStatus_t cudnnSetStream(cudnnHandle_t handle,
                                                  cudaStream_t stream) {
  return IsThere() ? Cudnn().set_stream(handle, stream)
                   : CUDNN_STATUS_NOT_INITIALIZED;
}

OCTET_CUDNN_FUNCTION cudnnStatus_t cudnnGetStream(cudnnHandle_t handle,
                                                  cudaStream_t* stream) {
  return IsThere() ? Cudnn().get_stream(handle, stream)
                   : CUDNN_STATUS_NOT_INITIALIZED;
}

OCTET_CUDNN_FUNCTION cudnnStatus_t cudnnBackendCreateDescriptor(
    cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  return IsThere() ? Cudnn().create_descriptor(type, descriptor)
                   : CUDNN_STATUS_NOT_INITIALIZED;
}

OCTET_CUDNN_FUNCTION cudnnStatus_t
cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return IsThere() ? Cudnn().destroy_descriptor(descriptor)
                   : CUDNN_STATUS_NOT_INITIALIZED;
}

OCTET_CUDNN_FUNCTION cudnnStatus_t
cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return IsThere() ? Cudnn().finalize(descriptor)
                   : CUDNN_STATUS_NOT_INITIALIZED;
}

OCTET_CUDNN_FUNCTION cudnnStatus_t cudnnBackendSetAttribute(
    cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
  return IsThere()
             ? Cudnn().set_attribute(descriptor, name, type, count, elements)
             : CUDNN_STATUS_NOT_INITIALIZED;
}

OCTET_CUDNN_FUNCTION cudnnStatus_t cudnnBackendGetAttribute(
    cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type, int64_t requested, int64_t* count,
    void* elements) {
  return IsThere() ? Cudnn().get_attribute(descriptor, name, type, requested,
                                           count, elements)
                   : CUDNN_STATUS_NOT_INITIALIZED;
}

OCTET_CUDNN_FUNCTION cudnnStatus_t
cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                    cudnnBackendDescriptor_t pack) {
  return IsThere() ? Cudnn().execute(handle, plan, pack)
                   : CUDNN_STATUS_NOT_INITIALIZED;
}

OCTET_CUDNN_FUNCTION nvrtcResult nvrtcCreateProgram(nvrtcProgram*, const char*,
                                                    const char*, int,
                                                    const char* const*,
                                                    const char* const*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}

OCTET_CUDNN_FUNCTION nvrtcResult nvrtcDestroyProgram(nvrtcProgram*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}

OCTET_CUDNN_FUNCTION nvrtcResult nvrtcCompileProgram(nvrtcProgram, int,
                                                     const char* const*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}

OCTET_CUDNN_FUNCTION nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}

OCTET_CUDNN_FUNCTION nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}

OCTET_CUDNN_FUNCTION nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, size_t*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}

OCTET_CUDNN_FUNCTION nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}

OCTET_CUDNN_FUNCTION const char* nvrtcGetErrorString(nvrtcResult) {
  return "NVRTC is not used";
}

}  // extern "C"
