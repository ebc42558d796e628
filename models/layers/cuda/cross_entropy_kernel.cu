// SPDX-License-Identifier: Apache-2.0

// The loss on the GPU, bound by memory: one exponential an element, of its
// distance to the largest that its thread has; what that lacks to the row's
// largest is a factor of all of them. Sums are in f32, in one order. Overwrites
// losses and dlogits.
#include <cmath>

#include "models/layers/cuda/cross_entropy_kernel.h"
#include "models/layers/cuda/vector.cuh"

namespace octet::models::internal {
namespace {

constexpr int kThreads = 512;
constexpr int kVectors = 8;    // of four logits: a thread's part of a row
constexpr int kMaxBlocks = 8;  // of a cluster on every GPU that has them

// sum of exp(x - largest)
struct Normaliser {
  float largest = -INFINITY;
  float sum = 0.0f;
};

// What is subtracted: nothing from numbers that are all -infinity.
__device__ __forceinline__ float Shift(float largest) {
  return largest == -INFINITY ? 0.0f : largest;
}

// Of two sets, in this order.
__device__ __forceinline__ Normaliser Join(Normaliser a, Normaliser b) {
  const float largest = fmaxf(a.largest, b.largest);
  const float shift = Shift(largest);
  return {largest,
          a.sum * expf(a.largest - shift) + b.sum * expf(b.largest - shift)};
}

// Over `lanes` lanes, a power of two, of a full warp.
__device__ __forceinline__ Normaliser JoinLanes(Normaliser n, int lanes) {
  for (int offset = 1; offset < lanes; offset *= 2) {
    const Normaliser other = {__shfl_xor_sync(kFullWarp, n.largest, offset),
                              __shfl_xor_sync(kFullWarp, n.sum, offset)};
    // Both lanes of a pair join in the same order.
    const bool upper = (threadIdx.x & static_cast<unsigned>(offset)) != 0;
    n = upper ? Join(other, n) : Join(n, other);
  }
  return n;
}

// Over the block; every thread gets it.
__device__ __forceinline__ Normaliser
JoinBlock(Normaliser n, Normaliser (&shared)[kThreads / 32]) {
  n = JoinLanes(n, 32);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = n;
  __syncthreads();
  return JoinLanes(shared[threadIdx.x % (kThreads / 32)], kThreads / 32);
}

__device__ __forceinline__ void ClusterArrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void ClusterWait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// Writes to the same place of another block of the cluster.
__device__ __forceinline__ void StoreRemote(Normaliser* here, unsigned block,
                                            Normaliser n) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(here));
  unsigned remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(remote)
               : "r"(address), "r"(block));
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(remote),
               "f"(n.largest), "f"(n.sum)
               : "memory");
}

__device__ __forceinline__ void StoreVector(const float (&x)[4], float* out) {
  *reinterpret_cast<float4*>(out) = {x[0], x[1], x[2], x[3]};
}
__device__ __forceinline__ void StoreVector(const float (&x)[4],
                                            __nv_bfloat16* out) {
  *reinterpret_cast<uint2*>(out) = {PackPair(x[0], x[1]), PackPair(x[2], x[3])};
}

// What the row's gradient is, without its logits, if it does not need them.
enum class RowKind { kUsual, kIgnored, kUnknown };
__device__ __forceinline__ RowKind KindOf(const CrossEntropyProblem& p,
                                          int64_t target) {
  if (target == p.ignore_index) return RowKind::kIgnored;
  return target >= 0 && target < p.vocab ? RowKind::kUsual : RowKind::kUnknown;
}

__device__ __forceinline__ double LossOf(Normaliser n, float target_logit) {
  return log(static_cast<double>(n.sum)) +
         (static_cast<double>(n.largest) - static_cast<double>(target_logit));
}
__device__ __forceinline__ float AtTarget(const CrossEntropyProblem& p,
                                          Normaliser n, float target_logit) {
  return (expf(target_logit - Shift(n.largest)) / n.sum - 1.0f) * p.grad_scale;
}

// A cluster takes a row, a block of it [begin, end) of its vectors.
template <typename Gradient>
__global__ void __launch_bounds__(kThreads, 2)
    ResidentKernel(CrossEntropyProblem p, int blocks) {
  __shared__ Normaliser of_warps[kThreads / 32];
  __shared__ alignas(8) Normaliser of_blocks[kMaxBlocks];
  const int64_t row = blockIdx.x / static_cast<unsigned>(blocks);
  const auto part =
      static_cast<int>(blockIdx.x % static_cast<unsigned>(blocks));
  const int64_t vectors = p.vocab / 4;
  const int64_t each = (vectors + blocks - 1) / blocks;
  const int64_t begin = part * each;
  const int64_t end = min(begin + each, vectors);
  const int64_t target = p.targets[row];
  const RowKind kind = KindOf(p, target);
  Gradient* const out = p.dlogits == nullptr
                            ? nullptr
                            : static_cast<Gradient*>(p.dlogits) + row * p.vocab;
  // All blocks of a cluster take the same way.
  if (kind != RowKind::kUsual) {
    const float value = kind == RowKind::kIgnored ? 0.0f : NAN;
    if (part == 0 && threadIdx.x == 0) p.losses[row] = value;
    for (int64_t i = begin + threadIdx.x; out != nullptr && i < end;
         i += kThreads) {
      StoreVector({value, value, value, value}, out + 4 * i);
    }
    return;
  }
  ClusterArrive();
  const auto* const logits =
      reinterpret_cast<const float4*>(p.logits + row * p.vocab);
  float x[kVectors][4];
  float largest = -INFINITY;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int64_t i = begin + v * kThreads + threadIdx.x;
    float4 loaded = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    if (i < end) loaded = logits[i];
    x[v][0] = loaded.x;
    x[v][1] = loaded.y;
    x[v][2] = loaded.z;
    x[v][3] = loaded.w;
  }
  const float target_logit = p.logits[row * p.vocab + target];
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (int k = 0; k < 4; ++k) largest = fmaxf(largest, x[v][k]);
  }
  const float shift = Shift(largest);
  Normaliser mine = {largest, 0.0f};
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      x[v][k] = expf(x[v][k] - shift);
      mine.sum += x[v][k];
    }
  }
  Normaliser all = JoinBlock(mine, of_warps);
  // The blocks have all begun; then, what each has is everywhere.
  ClusterWait();
  if (threadIdx.x < static_cast<unsigned>(blocks)) {
    StoreRemote(&of_blocks[part], threadIdx.x, all);
  }
  __syncwarp();
  ClusterArrive();
  ClusterWait();
  all =
      JoinLanes(of_blocks[threadIdx.x % static_cast<unsigned>(blocks)], blocks);
  if (part == 0 && threadIdx.x == 0) p.losses[row] = LossOf(all, target_logit);
  if (out == nullptr) return;
  const float factor =
      expf(largest - Shift(all.largest)) * (p.grad_scale / all.sum);
  const float at_target = AtTarget(p, all, target_logit);
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int64_t i = begin + v * kThreads + threadIdx.x;
    if (i >= end) break;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      x[v][k] = 4 * i + k == target ? at_target : x[v][k] * factor;
    }
    StoreVector(x[v], out + 4 * i);
  }
}

// Any vocabulary and alignment.
template <typename Gradient>
__global__ void __launch_bounds__(kThreads)
    TwoReadKernel(CrossEntropyProblem p) {
  __shared__ Normaliser of_warps[kThreads / 32];
  const int64_t row = blockIdx.x;
  const int64_t target = p.targets[row];
  const RowKind kind = KindOf(p, target);
  const float* const logits = p.logits + row * p.vocab;
  Gradient* const out = p.dlogits == nullptr
                            ? nullptr
                            : static_cast<Gradient*>(p.dlogits) + row * p.vocab;
  if (kind != RowKind::kUsual) {
    const float value = kind == RowKind::kIgnored ? 0.0f : NAN;
    if (threadIdx.x == 0) p.losses[row] = value;
    for (int64_t i = threadIdx.x; out != nullptr && i < p.vocab;
         i += kThreads) {
      Narrow(value, &out[i]);
    }
    return;
  }
  constexpr int kAhead = 8;
  const float target_logit = logits[target];
  Normaliser mine;
  for (int64_t first = threadIdx.x; first < p.vocab;
       first += kAhead * kThreads) {
    float x[kAhead];
    float largest = mine.largest;
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const int64_t i = first + k * kThreads;
      x[k] = i < p.vocab ? logits[i] : -INFINITY;
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) largest = fmaxf(largest, x[k]);
    const float shift = Shift(largest);
    mine.sum *= expf(mine.largest - shift);
    mine.largest = largest;
#pragma unroll
    for (int k = 0; k < kAhead; ++k) mine.sum += expf(x[k] - shift);
  }
  const Normaliser all = JoinBlock(mine, of_warps);
  if (threadIdx.x == 0) p.losses[row] = LossOf(all, target_logit);
  if (out == nullptr) return;
  const float scale = p.grad_scale / all.sum;
  const float shift = Shift(all.largest);
  const float at_target = AtTarget(p, all, target_logit);
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < p.vocab; i += kThreads) {
    const float value = expf(logits[i] - shift) * scale;
    Narrow(i == target ? at_target : value, &out[i]);
  }
}

template <typename Gradient>
cudaError_t Launch(const CrossEntropyProblem& p, const CrossEntropyPlan& plan,
                   cudaStream_t stream) {
  if (plan.blocks == 0) {
    TwoReadKernel<Gradient>
        <<<static_cast<unsigned>(p.rows), kThreads, 0, stream>>>(p);
    return cudaGetLastError();
  }
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(plan.blocks);
  cluster.val.clusterDim.y = 1;
  cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(p.rows * plan.blocks));
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  const cudaError_t error =
      cudaLaunchKernelEx(&config, &ResidentKernel<Gradient>, p, plan.blocks);
  return error != cudaSuccess ? error : cudaGetLastError();
}

}  // namespace

CrossEntropyPlan PlanCrossEntropy(const CrossEntropyProblem& p) {
  CrossEntropyPlan plan;
  plan.threads = kThreads;
  if (p.vocab % 4 != 0 || !IsAligned(p.logits) || !IsAligned(p.dlogits)) {
    return plan;
  }
  for (int blocks = 1; blocks <= kMaxBlocks; blocks *= 2) {
    if (p.vocab / 4 <= int64_t{blocks} * kThreads * kVectors) {
      plan.blocks = blocks;
      break;
    }
  }
  return plan;
}

cudaError_t LaunchCrossEntropy(const CrossEntropyProblem& p,
                               const CrossEntropyPlan& plan,
                               cudaStream_t stream) {
  return p.gradient == ElementType::kBf16
             ? Launch<__nv_bfloat16>(p, plan, stream)
             : Launch<float>(p, plan, stream);
}

}  // namespace octet::models::internal
