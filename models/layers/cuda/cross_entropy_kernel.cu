// SPDX-License-Identifier: Apache-2.0

// The loss on the GPU, bound by memory: one exponential an element, of its
// distance to the largest that its warp has; what that lacks to the row's
// largest is a factor of all of them. Sums are in f32, in one order. Overwrites
// losses and dlogits.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

#include "models/layers/cuda/cluster.cuh"
#include "models/layers/cuda/cross_entropy_kernel.h"
#include "models/layers/cuda/vector.cuh"

namespace octet::models::internal {
namespace {

constexpr int kThreads = 512;
constexpr int kVectors = 8;    // of four logits: a thread's part of a row
constexpr int kMaxBlocks = 8;  // of a cluster on every GPU that has them
constexpr int kBlocksPerSm = 2;

// sum of exp(x - largest)
struct Normaliser {
  float largest = -INFINITY;
  float sum = 0.0f;
};

// What is subtracted: nothing from numbers that are all -infinity.
__device__ __forceinline__ float Shift(float largest) {
  return largest == -INFINITY ? 0.0f : largest;
}

__device__ __forceinline__ float MaxOfLanes(float x, int lanes) {
  for (int offset = 1; offset < lanes; offset *= 2) {
    x = fmaxf(x, __shfl_xor_sync(kFullWarp, x, offset));
  }
  return x;
}
__device__ __forceinline__ float SumOfLanes(float x, int lanes) {
  for (int offset = 1; offset < lanes; offset *= 2) {
    x = __fadd_rn(x, __shfl_xor_sync(kFullWarp, x, offset));
  }
  return x;
}

// Of all sets that `lanes` lanes have, a power of two, in a full warp.
__device__ __forceinline__ Normaliser JoinLanes(Normaliser n, int lanes) {
  const float largest = MaxOfLanes(n.largest, lanes);
  return {largest, SumOfLanes(n.sum * expf(n.largest - Shift(largest)), lanes)};
}

// Of all warps of the block, which have joined; every thread gets it.
__device__ __forceinline__ Normaliser
JoinWarps(Normaliser n, Normaliser (&shared)[kThreads / 32]) {
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = n;
  __syncthreads();
  return JoinLanes(shared[threadIdx.x % (kThreads / 32)], kThreads / 32);
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
// Of the loss and all of the gradient, where it is not usual.
__device__ __forceinline__ float ValueOf(RowKind kind) {
  return kind == RowKind::kIgnored ? 0.0f : NAN;
}

__device__ __forceinline__ double LossOf(Normaliser n, float target_logit) {
  return log(static_cast<double>(n.sum)) +
         (static_cast<double>(n.largest) - static_cast<double>(target_logit));
}
__device__ __forceinline__ float AtTarget(const CrossEntropyProblem& p,
                                          Normaliser n, float target_logit) {
  return (expf(target_logit - Shift(n.largest)) / n.sum - 1.0f) * p.grad_scale;
}

// Clusters take rows by turns, a block of them [begin, end) of a row's vectors:
// while these are in registers, those of the next row arrive in its memory.
template <typename Gradient>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    ResidentKernel(CrossEntropyProblem p, int blocks) {
  extern __shared__ __align__(16) float4 next[];
  __shared__ Normaliser of_warps[kThreads / 32];
  // By turns, since a fast block writes the next row's while a slow one reads.
  __shared__ float2 of_blocks[2][kMaxBlocks];
  __shared__ __align__(8) uint64_t arrival;
  const int part = static_cast<int>(blockIdx.x) % blocks;
  const int vectors = static_cast<int>(p.vocab / 4);
  const int each = (vectors + blocks - 1) / blocks;
  const int begin = min(part * each, vectors);
  const int count = min(each, vectors - begin);
  const auto rows = static_cast<int>(p.rows);
  const int step = static_cast<int>(gridDim.x) / blocks;
  int row = static_cast<int>(blockIdx.x) / blocks;
  const auto fetch = [&](int of_row) {
    CopyToShared(next, p.logits + of_row * p.vocab + 4 * begin,
                 static_cast<unsigned>(count) * 16, &arrival);
  };
  if (threadIdx.x == 0) {
    InitArrival(&arrival);
    if (row < rows) fetch(row);
  }
  __syncthreads();
  ClusterArrive();  // the blocks have all begun
  ClusterWait();
  unsigned exchange = 0;
  for (unsigned turn = 0; row < rows; row += step, turn ^= 1) {
    const int target = p.targets[row];
    const RowKind kind = KindOf(p, target);
    Gradient* const out =
        p.dlogits == nullptr
            ? nullptr
            : static_cast<Gradient*>(p.dlogits) + row * p.vocab + 4 * begin;
    const bool is_first = part == 0 && threadIdx.x == 0;
    if (kind != RowKind::kUsual) {  // for all blocks of the cluster
      AwaitArrival(&arrival, turn);
      __syncthreads();
      if (threadIdx.x == 0 && row + step < rows) fetch(row + step);
      const float value = ValueOf(kind);
      if (is_first) p.losses[row] = value;
      for (int i = static_cast<int>(threadIdx.x); out != nullptr && i < count;
           i += kThreads) {
        StoreVector({value, value, value, value}, out + 4 * i);
      }
      continue;
    }
    const float target_logit = p.logits[row * p.vocab + target];
    AwaitArrival(&arrival, turn);
    float x[kVectors][4];
    float largest = -INFINITY;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int i = v * kThreads + static_cast<int>(threadIdx.x);
      float4 loaded = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
      if (i < count) loaded = next[i];
      x[v][0] = loaded.x;
      x[v][1] = loaded.y;
      x[v][2] = loaded.z;
      x[v][3] = loaded.w;
#pragma unroll
      for (int k = 0; k < 4; ++k) largest = fmaxf(largest, x[v][k]);
    }
    largest = MaxOfLanes(largest, 32);
    Normaliser all = {largest, 0.0f};
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        x[v][k] = expf(x[v][k] - Shift(largest));
        all.sum += x[v][k];
      }
    }
    all.sum = SumOfLanes(all.sum, 32);
    all = JoinWarps(all, of_warps);
    // The block has read what arrived.
    if (threadIdx.x == 0 && row + step < rows) fetch(row + step);
    if (threadIdx.x < static_cast<unsigned>(blocks)) {
      StoreRemote(&of_blocks[exchange][part], threadIdx.x,
                  float2{all.largest, all.sum});
    }
    __syncwarp();
    ClusterArrive();
    ClusterWait();
    const float2 block =
        of_blocks[exchange][static_cast<int>(threadIdx.x) % blocks];
    all = JoinLanes({block.x, block.y}, blocks);
    exchange ^= 1;
    if (is_first) p.losses[row] = LossOf(all, target_logit);
    if (out == nullptr) continue;
    const float factor =
        expf(largest - Shift(all.largest)) * (p.grad_scale / all.sum);
    const float at_target = AtTarget(p, all, target_logit);
    const int at = target - 4 * begin;  // its place in this part of the row
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int i = v * kThreads + static_cast<int>(threadIdx.x);
      if (i >= count) break;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        x[v][k] = 4 * i + k == at ? at_target : x[v][k] * factor;
      }
      StoreVector(x[v], out + 4 * i);
    }
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
    const float value = ValueOf(kind);
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
  const Normaliser all = JoinWarps(JoinLanes(mine, 32), of_warps);
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

// A launch of clusters of so many blocks, each with room for its part of a row.
struct ClusterLaunch {
  ClusterLaunch(const CrossEntropyProblem& p, int blocks, cudaStream_t stream) {
    const int64_t vectors = (p.vocab / 4 + blocks - 1) / blocks;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = static_cast<unsigned>(blocks);
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(kThreads);
    config.dynamicSmemBytes = static_cast<size_t>(vectors) * 16;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;

  cudaLaunchAttribute attribute = {};
  cudaLaunchConfig_t config = {};
};

// How many clusters run at once, where each block has as much memory as it can
// want; found once.
template <typename Gradient>
cudaError_t ResidentClusters(const CrossEntropyProblem& p, int blocks,
                             int* clusters) {
  static std::atomic<int> found[kMaxBlocks + 1];
  *clusters = found[blocks].load(std::memory_order_relaxed);
  if (*clusters > 0) return cudaSuccess;
  constexpr int kBytes = kThreads * kVectors * 16;
  cudaError_t error =
      cudaFuncSetAttribute(&ResidentKernel<Gradient>,
                           cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  ClusterLaunch launch(p, blocks, nullptr);
  launch.config.dynamicSmemBytes = kBytes;
  error = cudaOccupancyMaxActiveClusters(clusters, &ResidentKernel<Gradient>,
                                         &launch.config);
  if (error != cudaSuccess) return error;
  *clusters = std::max(*clusters, 1);
  found[blocks].store(*clusters, std::memory_order_relaxed);
  return cudaSuccess;
}

template <typename Gradient>
cudaError_t Launch(const CrossEntropyProblem& p, const CrossEntropyPlan& plan,
                   cudaStream_t stream) {
  if (plan.blocks == 0) {
    TwoReadKernel<Gradient>
        <<<static_cast<unsigned>(p.rows), kThreads, 0, stream>>>(p);
    return cudaGetLastError();
  }
  int clusters = 0;
  cudaError_t error = ResidentClusters<Gradient>(p, plan.blocks, &clusters);
  if (error != cudaSuccess) return error;
  ClusterLaunch launch(p, plan.blocks, stream);
  launch.config.gridDim.x *=
      static_cast<unsigned>(EvenBlocks(p.rows, clusters));
  error = cudaLaunchKernelEx(&launch.config, &ResidentKernel<Gradient>, p,
                             plan.blocks);
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
