// SPDX-License-Identifier: Apache-2.0

// RMSNorm on the GPU, bound by memory: rows in registers where they are whole
// aligned vectors, else element by element. Overwrites x, y and rstd; dx and
// dweight accumulate. dweight is summed by blocks over their rows, then over
// the blocks, both in order.
#include "models/layers/cuda/rms_norm_kernel.h"
#include "models/layers/cuda/rms_norm_row.cuh"

namespace octet::models::internal {
namespace {

using float8::internal::ToFloat;

constexpr int kScalarThreads = 256;
constexpr int kMaxBackwardThreads = 512;
constexpr RowLimits kBackwardLimits = {
    {kMaxBackwardThreads, kMaxBackwardThreads, kMaxBackwardThreads}};
// Rows whose parts of dweight a thread adds up, where there are no vectors.
constexpr int64_t kScalarRows = 64;

// Any hidden and alignment.
template <typename T>
__global__ void ForwardScalarKernel(RmsNormForwardProblem p) {
  __shared__ float sums[2][32];
  const auto* weight = static_cast<const T*>(p.weight);
  unsigned largest = 0;
  int turn = 0;
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const int64_t at = row * p.hidden;
    const auto* a = static_cast<const T*>(p.residual) + at;
    const auto* b = static_cast<const T*>(p.delta) + at;
    T* const x = static_cast<T*>(p.x) + at;
    T* const y = static_cast<T*>(p.y) + at;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < p.hidden; i += blockDim.x) {
      float value = ToFloat(a[i]);
      if (p.delta != nullptr) {
        Narrow(__fadd_rn(value, ToFloat(b[i])), &x[i]);
        value = ToFloat(x[i]);
      }
      sum = __fmaf_rn(value, value, sum);
    }
    const float rstd =
        NormScale(BlockSum(sum, sums[turn]), p.hidden, p.epsilon);
    if (threadIdx.x == 0) p.rstd[row] = rstd;
    for (int64_t i = threadIdx.x; i < p.hidden; i += blockDim.x) {
      const float value = ToFloat(p.delta != nullptr ? x[i] : a[i]);
      T rounded;
      Narrow(__fmul_rn(__fmul_rn(value, rstd), ToFloat(weight[i])), &rounded);
      largest = max(largest, AbsBitsOf(rounded));
      y[i] = rounded;
    }
    turn ^= 1;
  }
  if (p.amax != nullptr) GridMax<1>({largest}, p.counters, {p.amax});
}

// A thread's part of dweight, as a block's row of the partial sums.
template <int kVectors, int kPer>
__device__ __forceinline__ void StorePartial(
    const float (&dweight)[kVectors][kPer], int64_t vectors, float* row) {
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int64_t at = static_cast<int64_t>(v) * blockDim.x + threadIdx.x;
    if (at >= vectors) continue;
#pragma unroll
    for (int i = 0; i < kPer; i += 4) {
      *reinterpret_cast<float4*>(row + at * kPer + i) = {
          dweight[v][i], dweight[v][i + 1], dweight[v][i + 2],
          dweight[v][i + 3]};
    }
  }
}

// Adds the gradient of a vector to dx and dweight.
template <typename T>
__device__ __forceinline__ uint4 AddGradient(const uint4& x, const uint4& dy,
                                             const uint4& weight,
                                             const uint4& dx, float rstd,
                                             float mean,
                                             float (&dweight)[kPerVector<T>]) {
  constexpr int kPer = kPerVector<T>;
  float a[kPer], g[kPer], w[kPer], out[kPer];
  Unpack<T>(x, a);
  Unpack<T>(dy, g);
  Unpack<T>(weight, w);
  Unpack<T>(dx, out);
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    dweight[i] += g[i] * a[i] * rstd;
    out[i] += rstd * (g[i] * w[i] - a[i] * mean);
  }
  return Pack<T>(out);
}

// With n = x * rstd and g = dy * weight: dx += rstd * (g - n * mean(g n)).
template <typename T, int kVectors>
__global__ void __launch_bounds__(kMaxBackwardThreads, kVectors == 1 ? 2 : 1)
    BackwardKernel(RmsNormBackwardProblem p, float* partial) {
  constexpr int kPer = kPerVector<T>;
  __shared__ float sums[2][32];
  const int64_t vectors = p.hidden / kPer;
  const auto* all_x = static_cast<const uint4*>(p.x);
  const auto* all_dy = static_cast<const uint4*>(p.dy);
  auto* const all_dx = static_cast<uint4*>(p.dx);
  // The next row's loads are in flight while this one is summed, where there
  // are registers for both.
  constexpr bool kAhead = kVectors < 4;
  uint4 weight[kVectors], next_x[kVectors], next_dy[kVectors];
  float dweight[kVectors][kPer] = {};
  LoadRow(static_cast<const uint4*>(p.weight), vectors, weight);
  const auto load = [&](int64_t row) {
    LoadRow(all_x + row * vectors, vectors, next_x);
    LoadRow(all_dy + row * vectors, vectors, next_dy);
  };
  if (kAhead) load(blockIdx.x);
  unsigned largest = 0;
  int turn = 0;
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    uint4 x[kVectors], dy[kVectors], dx[kVectors];
    if (!kAhead) load(row);
    LoadRow(all_dx + row * vectors, vectors, dx);
    const float rstd = p.rstd[row];
    float dot = 0.0f;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      x[v] = next_x[v];
      dy[v] = next_dy[v];
      float a[kPer], g[kPer], w[kPer];
      Unpack<T>(x[v], a);
      Unpack<T>(dy[v], g);
      Unpack<T>(weight[v], w);
#pragma unroll
      for (int i = 0; i < kPer; ++i) dot += g[i] * w[i] * a[i];
    }
    if (kAhead && row + gridDim.x < p.rows) load(row + gridDim.x);
    const float mean =
        BlockSum(dot, sums[turn]) * rstd * rstd / static_cast<float>(p.hidden);
    turn ^= 1;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      KeepPacked(&x[v]);
      KeepPacked(&dy[v]);
      const uint4 sum =
          AddGradient<T>(x[v], dy[v], weight[v], dx[v], rstd, mean, dweight[v]);
      const int64_t at = static_cast<int64_t>(v) * blockDim.x + threadIdx.x;
      if (at < vectors) {
        largest = max(largest, AbsBitsOf<T>(sum));
        all_dx[row * vectors + at] = sum;
      }
    }
  }
  StorePartial(dweight, vectors, partial + blockIdx.x * p.hidden);
  if (p.dx_amax != nullptr) GridMax<1>({largest}, p.counters, {p.dx_amax});
}

template <typename T>
__global__ void WeightScalarKernel(RmsNormBackwardProblem p, float* partial) {
  const int64_t column =
      static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= p.hidden) return;
  const auto* x = static_cast<const T*>(p.x);
  const auto* dy = static_cast<const T*>(p.dy);
  const int64_t begin = blockIdx.y * kScalarRows;
  float sum = 0.0f;
  for (int64_t row = begin; row < min(p.rows, begin + kScalarRows); ++row) {
    const int64_t at = row * p.hidden + column;
    sum += ToFloat(dy[at]) * ToFloat(x[at]) * p.rstd[row];
  }
  partial[blockIdx.y * p.hidden + column] = sum;
}

template <typename T>
__global__ void BackwardScalarKernel(RmsNormBackwardProblem p) {
  __shared__ float sums[2][32];
  const auto* weight = static_cast<const T*>(p.weight);
  unsigned largest = 0;
  int turn = 0;
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const auto* x = static_cast<const T*>(p.x) + row * p.hidden;
    const auto* dy = static_cast<const T*>(p.dy) + row * p.hidden;
    T* const dx = static_cast<T*>(p.dx) + row * p.hidden;
    float dot = 0.0f;
    for (int64_t i = threadIdx.x; i < p.hidden; i += blockDim.x) {
      dot += ToFloat(dy[i]) * ToFloat(weight[i]) * ToFloat(x[i]);
    }
    const float rstd = p.rstd[row];
    const float mean =
        BlockSum(dot, sums[turn]) * rstd * rstd / static_cast<float>(p.hidden);
    turn ^= 1;
    for (int64_t i = threadIdx.x; i < p.hidden; i += blockDim.x) {
      const float g = ToFloat(dy[i]) * ToFloat(weight[i]);
      T rounded;
      Narrow(ToFloat(dx[i]) + rstd * (g - ToFloat(x[i]) * mean), &rounded);
      largest = max(largest, AbsBitsOf(rounded));
      dx[i] = rounded;
    }
  }
  if (p.dx_amax != nullptr) GridMax<1>({largest}, p.counters, {p.dx_amax});
}

constexpr int kReduceColumns = 32;
constexpr int kReduceRows = 16;

// dweight[column] += the sum over all partial rows.
__global__ void ReduceWeightKernel(const float* partial, int64_t rows,
                                   int64_t hidden, float* dweight) {
  __shared__ float sums[kReduceRows][kReduceColumns];
  const int64_t column =
      static_cast<int64_t>(blockIdx.x) * kReduceColumns + threadIdx.x;
  float sum = 0.0f;
  if (column < hidden) {
    for (int64_t row = threadIdx.y; row < rows; row += kReduceRows) {
      sum += partial[row * hidden + column];
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= hidden) return;
  for (int i = 1; i < kReduceRows; ++i) sum += sums[i][threadIdx.x];
  dweight[column] += sum;
}

template <typename T>
cudaError_t LaunchForward(const RmsNormForwardProblem& p, cudaStream_t stream) {
  const bool aligned = IsAligned(p.residual) && IsAligned(p.delta) &&
                       IsAligned(p.weight) && IsAligned(p.x) && IsAligned(p.y);
  const int vectors =
      aligned ? VectorsPerThread(p.hidden, kPerVector<T>, kRowLimits<T>) : 0;
  if (vectors != 0) {
    return LaunchRows<T, RowCast::kNone>(vectors, p, {}, stream);
  }
  const int64_t blocks = EvenBlocks(
      p.rows, ResidentBlocks<&ForwardScalarKernel<T>>(kScalarThreads));
  ForwardScalarKernel<T>
      <<<static_cast<unsigned>(blocks), kScalarThreads, 0, stream>>>(p);
  return cudaGetLastError();
}

template <typename T>
RmsNormBackwardPlan Plan(const RmsNormBackwardProblem& p) {
  const bool aligned = IsAligned(p.x) && IsAligned(p.weight) &&
                       IsAligned(p.dy) && IsAligned(p.dx);
  RmsNormBackwardPlan plan = {0, kScalarThreads,
                              (p.rows + kScalarRows - 1) / kScalarRows};
  if (!aligned) return plan;
  plan.vectors = VectorsPerThread(p.hidden, kPerVector<T>, kBackwardLimits);
  if (plan.vectors == 0) return plan;
  plan.threads = RowThreads(p.hidden, kPerVector<T>, plan.vectors);
  const int resident =
      plan.vectors == 1   ? ResidentBlocks<&BackwardKernel<T, 1>>(plan.threads)
      : plan.vectors == 2 ? ResidentBlocks<&BackwardKernel<T, 2>>(plan.threads)
                          : ResidentBlocks<&BackwardKernel<T, 4>>(plan.threads);
  plan.blocks = EvenBlocks(p.rows, resident);
  return plan;
}

template <typename T>
void LaunchBackward(const RmsNormBackwardProblem& p,
                    const RmsNormBackwardPlan& plan, float* partial,
                    cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(plan.blocks);
  switch (plan.vectors) {
    case 1:
      BackwardKernel<T, 1><<<blocks, plan.threads, 0, stream>>>(p, partial);
      return;
    case 2:
      BackwardKernel<T, 2><<<blocks, plan.threads, 0, stream>>>(p, partial);
      return;
    case 4:
      BackwardKernel<T, 4><<<blocks, plan.threads, 0, stream>>>(p, partial);
      return;
    default:
      break;
  }
  const dim3 grid(
      static_cast<unsigned>((p.hidden + plan.threads - 1) / plan.threads),
      blocks);
  WeightScalarKernel<T><<<grid, plan.threads, 0, stream>>>(p, partial);
  const int64_t rows = EvenBlocks(
      p.rows, ResidentBlocks<&BackwardScalarKernel<T>>(plan.threads));
  BackwardScalarKernel<T>
      <<<static_cast<unsigned>(rows), plan.threads, 0, stream>>>(p);
}

}  // namespace

cudaError_t LaunchRmsNormForward(const RmsNormForwardProblem& p,
                                 cudaStream_t stream) {
  return p.type == ElementType::kBf16 ? LaunchForward<__nv_bfloat16>(p, stream)
                                      : LaunchForward<float>(p, stream);
}

RmsNormBackwardPlan PlanRmsNormBackward(const RmsNormBackwardProblem& p) {
  return p.type == ElementType::kBf16 ? Plan<__nv_bfloat16>(p) : Plan<float>(p);
}

cudaError_t LaunchRmsNormBackward(const RmsNormBackwardProblem& p,
                                  const RmsNormBackwardPlan& plan,
                                  float* partial, cudaStream_t stream) {
  if (p.type == ElementType::kBf16) {
    LaunchBackward<__nv_bfloat16>(p, plan, partial, stream);
  } else {
    LaunchBackward<float>(p, plan, partial, stream);
  }
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return error;
  const auto blocks =
      static_cast<unsigned>((p.hidden + kReduceColumns - 1) / kReduceColumns);
  ReduceWeightKernel<<<blocks, dim3(kReduceColumns, kReduceRows), 0, stream>>>(
      partial, plan.blocks, p.hidden, p.dweight);
  return cudaGetLastError();
}

}  // namespace octet::models::internal
