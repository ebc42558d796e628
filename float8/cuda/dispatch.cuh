// SPDX-License-Identifier: Apache-2.0

// From the types that a launcher is given to those that a kernel is compiled
// for, and what memory allows.
#ifndef OCTET_FLOAT8_CUDA_DISPATCH_CUH_
#define OCTET_FLOAT8_CUDA_DISPATCH_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "float8/cuda/types.h"

namespace octet::float8::internal {

template <typename T>
struct TypeTag {
  using type = T;
};

// Calls body(TypeTag<T>()) for the element type.
template <typename Body>
cudaError_t ForType(ElementType type, Body body) {
  switch (type) {
    case ElementType::kF32:
      return body(TypeTag<float>());
    case ElementType::kBf16:
      return body(TypeTag<__nv_bfloat16>());
    case ElementType::kF16:
      return body(TypeTag<__half>());
  }
  return cudaErrorInvalidValue;
}

// Calls body(TypeTag<T>(), std::integral_constant<Fp8, ...>()).
template <typename Body>
cudaError_t ForTypeAndFormat(ElementType type, Fp8 format, Body body) {
  return ForType(type, [&](auto tag) {
    return format == Fp8::kE4M3
               ? body(tag, std::integral_constant<Fp8, Fp8::kE4M3>())
               : body(tag, std::integral_constant<Fp8, Fp8::kE5M2>());
  });
}

// Launches a kernel that may start while the one before it on the stream ends:
// it must call AwaitPredecessor (encode.cuh) first of all, in every thread.
template <typename... Params, typename... Args>
cudaError_t LaunchDependent(void (*kernel)(Params...), int64_t blocks,
                            dim3 threads, int shared_bytes, cudaStream_t stream,
                            const Args&... args) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = threads;
  config.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...);
}

inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

inline int64_t SizeOfElement(ElementType type) {
  return type == ElementType::kF32 ? 4 : 2;
}

inline bool IsAligned(const void* data, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % bytes == 0;
}

// Every row starts at a multiple of 16 bytes.
inline bool RowsAreAligned(const MatrixIn& in) {
  return IsAligned(in.data, 16) && in.cols * SizeOfElement(in.type) % 16 == 0;
}

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_DISPATCH_CUH_
