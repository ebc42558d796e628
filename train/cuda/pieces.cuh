// SPDX-License-Identifier: Apache-2.0

// One launch over many tensors: a table of them that is a kernel's parameter,
// so that nothing is copied beforehand and a captured graph holds it. A block
// takes a piece of a tensor.
#ifndef OCTET_TRAIN_CUDA_PIECES_CUH_
#define OCTET_TRAIN_CUDA_PIECES_CUH_

#include <cstdint>

namespace octet::train::internal {

// Of a kernel's parameters, from CUDA 12.1 and compute capability 7.0 on, less
// what stands beside the table.
inline constexpr int kTableBytes = 32000;

// The tensor whose piece `piece` is: the last whose first piece is not after
// it. `first_piece` is a member of the entries, which rises.
template <typename Entry>
__device__ __forceinline__ int FindTensor(const Entry* entries, int count,
                                          uint32_t piece) {
  int low = 0, high = count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (entries[middle].first_piece <= piece) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

inline bool IsAligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0;
}

}  // namespace octet::train::internal

#endif  // OCTET_TRAIN_CUDA_PIECES_CUH_
