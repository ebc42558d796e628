// SPDX-License-Identifier: Apache-2.0

// The gated activation on the GPU, bound by memory: a thread has the loads of
// kUnroll vectors in flight. What is no whole aligned vector goes element by
// element.
#include <algorithm>

#include "models/layers/cuda/swiglu_kernel.h"
#include "models/layers/cuda/swiglu_math.cuh"

namespace octet::models::internal {
namespace {

using float8::internal::ToFloat;

constexpr int kThreads = 256;
constexpr int kUnroll = 2;

// Calls vector(first, count) for up to kUnroll vectors a block size apart, and
// scalar(i) for the elements after `vectors` vectors of kPer.
template <int kPer, typename Vectors, typename Scalar>
__device__ __forceinline__ void ForEach(int64_t vectors, int64_t n,
                                        const Vectors& visit_vectors,
                                        const Scalar& visit_scalar) {
  constexpr int64_t kChunk = int64_t{kThreads} * kUnroll;
  for (int64_t i = blockIdx.x * kChunk + threadIdx.x; i < vectors;
       i += gridDim.x * kChunk) {
    visit_vectors(i);
  }
  const int64_t threads = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i =
           vectors * kPer + blockIdx.x * int64_t{kThreads} + threadIdx.x;
       i < n; i += threads) {
    visit_scalar(i);
  }
}

__device__ __forceinline__ uint4 LoadAt(const void* data, int64_t i,
                                        int64_t vectors) {
  return i < vectors ? static_cast<const uint4*>(data)[i] : uint4{0, 0, 0, 0};
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    ForwardKernel(SwigluForwardProblem p, int64_t vectors) {
  unsigned largest = 0;
  ForEach<kPerVector<T>>(
      vectors, p.n,
      [&](int64_t first) {
        uint4 gate[kUnroll], up[kUnroll];
#pragma unroll
        for (int k = 0; k < kUnroll; ++k) {
          gate[k] = LoadAt(p.gate, first + k * kThreads, vectors);
          up[k] = LoadAt(p.up, first + k * kThreads, vectors);
        }
#pragma unroll
        for (int k = 0; k < kUnroll; ++k) {
          const uint4 y = SwigluOf<T>(gate[k], up[k]);
          largest = max(largest, AbsBitsOf<T>(y));
          const int64_t i = first + k * kThreads;
          if (i < vectors) static_cast<uint4*>(p.y)[i] = y;
        }
      },
      [&](int64_t i) {
        T y;
        Narrow(SwigluOf(ToFloat(static_cast<const T*>(p.gate)[i]),
                        ToFloat(static_cast<const T*>(p.up)[i])),
               &y);
        largest = max(largest, AbsBitsOf(y));
        static_cast<T*>(p.y)[i] = y;
      });
  if (p.amax != nullptr) GridMax<1>({largest}, p.counters, {p.amax});
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    BackwardKernel(SwigluBackwardProblem p, int64_t vectors) {
  unsigned largest[2] = {0, 0};
  ForEach<kPerVector<T>>(
      vectors, p.n,
      [&](int64_t first) {
        uint4 gate[kUnroll], up[kUnroll], dy[kUnroll];
#pragma unroll
        for (int k = 0; k < kUnroll; ++k) {
          gate[k] = LoadAt(p.gate, first + k * kThreads, vectors);
          up[k] = LoadAt(p.up, first + k * kThreads, vectors);
          dy[k] = LoadAt(p.dy, first + k * kThreads, vectors);
        }
#pragma unroll
        for (int k = 0; k < kUnroll; ++k) {
          uint4 dgate, dup;
          SwigluGradients<T>(gate[k], up[k], dy[k], &dgate, &dup);
          largest[0] = max(largest[0], AbsBitsOf<T>(dgate));
          largest[1] = max(largest[1], AbsBitsOf<T>(dup));
          const int64_t i = first + k * kThreads;
          if (i >= vectors) continue;
          static_cast<uint4*>(p.dgate)[i] = dgate;
          static_cast<uint4*>(p.dup)[i] = dup;
        }
      },
      [&](int64_t i) {
        float dgate, dup;
        SwigluGradients(ToFloat(static_cast<const T*>(p.gate)[i]),
                        ToFloat(static_cast<const T*>(p.up)[i]),
                        ToFloat(static_cast<const T*>(p.dy)[i]), &dgate, &dup);
        T rounded[2];
        Narrow(dgate, &rounded[0]);
        Narrow(dup, &rounded[1]);
        largest[0] = max(largest[0], AbsBitsOf(rounded[0]));
        largest[1] = max(largest[1], AbsBitsOf(rounded[1]));
        static_cast<T*>(p.dgate)[i] = rounded[0];
        static_cast<T*>(p.dup)[i] = rounded[1];
      });
  if (p.dgate_amax != nullptr || p.dup_amax != nullptr) {
    GridMax<2>(largest, p.counters, {p.dgate_amax, p.dup_amax});
  }
}

unsigned Blocks(int64_t vectors, int64_t n, int64_t per_vector, int resident) {
  const int64_t chunks =
      (vectors + kThreads * kUnroll - 1) / (kThreads * kUnroll);
  const int64_t rest = (n - vectors * per_vector + kThreads - 1) / kThreads;
  return static_cast<unsigned>(
      std::min<int64_t>(resident, std::max(chunks, rest)));
}

template <typename T>
cudaError_t Forward(const SwigluForwardProblem& p, cudaStream_t stream) {
  const bool aligned = IsAligned(p.gate) && IsAligned(p.up) && IsAligned(p.y);
  const int64_t vectors = aligned ? p.n / kPerVector<T> : 0;
  const unsigned blocks = Blocks(vectors, p.n, kPerVector<T>,
                                 ResidentBlocks<&ForwardKernel<T>>(kThreads));
  ForwardKernel<T><<<blocks, kThreads, 0, stream>>>(p, vectors);
  return cudaGetLastError();
}

template <typename T>
cudaError_t Backward(const SwigluBackwardProblem& p, cudaStream_t stream) {
  const bool aligned = IsAligned(p.gate) && IsAligned(p.up) &&
                       IsAligned(p.dy) && IsAligned(p.dgate) &&
                       IsAligned(p.dup);
  const int64_t vectors = aligned ? p.n / kPerVector<T> : 0;
  const unsigned blocks = Blocks(vectors, p.n, kPerVector<T>,
                                 ResidentBlocks<&BackwardKernel<T>>(kThreads));
  BackwardKernel<T><<<blocks, kThreads, 0, stream>>>(p, vectors);
  return cudaGetLastError();
}

}  // namespace

cudaError_t LaunchSwigluForward(const SwigluForwardProblem& p,
                                cudaStream_t stream) {
  return p.type == ElementType::kBf16 ? Forward<__nv_bfloat16>(p, stream)
                                      : Forward<float>(p, stream);
}

cudaError_t LaunchSwigluBackward(const SwigluBackwardProblem& p,
                                 cudaStream_t stream) {
  return p.type == ElementType::kBf16 ? Backward<__nv_bfloat16>(p, stream)
                                      : Backward<float>(p, stream);
}

}  // namespace octet::models::internal
