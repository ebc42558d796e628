// SPDX-License-Identifier: Apache-2.0

// Clusters of blocks (compute capability 9.0): barriers, each other's shared
// memory, and copies to it that run beside the threads.
#ifndef OCTET_MODELS_LAYERS_CUDA_CLUSTER_CUH_
#define OCTET_MODELS_LAYERS_CUDA_CLUSTER_CUH_

#include <cstdint>

namespace octet::models::internal {

__device__ __forceinline__ unsigned SharedAddress(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// All threads of a cluster arrive, then wait for all; what they wrote before is
// seen after. Whole warps call.
__device__ __forceinline__ void ClusterArrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void ClusterWait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Writes to the same place of another block of the cluster.
__device__ __forceinline__ void StoreRemote(float2* here, unsigned block,
                                            float2 value) {
  unsigned remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(remote)
               : "r"(SharedAddress(here)), "r"(block));
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(remote),
               "f"(value.x), "f"(value.y)
               : "memory");
}

// A barrier that counts bytes which arrive in this block's memory.
__device__ __forceinline__ void InitArrival(uint64_t* arrival) {
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SharedAddress(arrival))
      : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// Queues a copy of `bytes`, a multiple of 16, between aligned places.
__device__ __forceinline__ void CopyToShared(void* to, const void* from,
                                             unsigned bytes,
                                             uint64_t* arrival) {
  const unsigned barrier = SharedAddress(arrival);
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
      "r"(bytes)
      : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1], %2, [%3];" ::"r"(SharedAddress(to)),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}
__device__ __forceinline__ void AwaitArrival(uint64_t* arrival,
                                             unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(SharedAddress(arrival)),
      "r"(parity)
      : "memory");
}

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDA_CLUSTER_CUH_
