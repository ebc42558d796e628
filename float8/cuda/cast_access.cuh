// SPDX-License-Identifier: Apache-2.0

// Which widths a problem's pointers and strides allow, and launches of kernels
// whose blocks take a tile each (host code).
#ifndef OCTET_FLOAT8_CUDA_CAST_ACCESS_CUH_
#define OCTET_FLOAT8_CUDA_CAST_ACCESS_CUH_

#include "float8/cuda/cast_tile.cuh"
#include "float8/cuda/dispatch.cuh"

namespace octet::float8::internal {

inline CastAccess AccessOf(const CastProblem& p) {
  const int64_t per_vector = 16 / SizeOfElement(p.in.type);
  const auto transposed_fits = [&](int64_t bytes) {
    return p.transposed == nullptr ||
           (p.in.rows % bytes == 0 && IsAligned(p.transposed, bytes));
  };
  CastAccess access;
  access.in_vectors = RowsAreAligned(p.in);
  access.data_vectors = p.data == nullptr || (p.in.cols % per_vector == 0 &&
                                              IsAligned(p.data, per_vector));
  access.transposed_bytes = transposed_fits(16)  ? 16
                            : transposed_fits(4) ? 4
                                                 : 1;
  return access;
}

inline bool IsAligned(const CastAccess& access) {
  return access.in_vectors && access.data_vectors &&
         access.transposed_bytes == 16;
}

// Shared memory that a tile of T comes by, in kernels of aligned problems.
template <typename T>
int SlotBytes(bool aligned) {
  return aligned ? kTile * kTile * static_cast<int>(sizeof(T)) : 0;
}

// `bytes`: of shared memory that the launch adds; the SM is to have as much of
// it as it can.
template <typename... Params, typename... Args>
cudaError_t LaunchTiles(void (*kernel)(Params...), int bytes, int64_t blocks,
                        cudaStream_t stream, const Args&... args) {
  const void* const code = reinterpret_cast<const void*>(kernel);
  cudaError_t error = cudaFuncSetAttribute(
      code, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) return error;
  error =
      cudaFuncSetAttribute(code, cudaFuncAttributePreferredSharedMemoryCarveout,
                           cudaSharedmemCarveoutMaxShared);
  if (error != cudaSuccess) return error;
  return LaunchDependent(kernel, blocks, kTileThreads, bytes, stream, args...);
}

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_CAST_ACCESS_CUH_
