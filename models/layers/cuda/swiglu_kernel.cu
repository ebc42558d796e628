// SPDX-License-Identifier: Apache-2.0

// The gated activation on the GPU, bound by memory: a vector at a time, and as
// many blocks as run at once, since each ends with an amax to hand in. What is
// no whole aligned vector goes element by element.
#include "models/layers/cuda/swiglu_kernel.h"
#include "models/layers/cuda/swiglu_math.cuh"

namespace octet::models::internal {
namespace {

using float8::internal::ToFloat;

constexpr int kThreads = 256;

// Calls visit_vector(i) for each vector, and visit_element(i) for the elements
// after `vectors` vectors of kPer.
template <int kPer, typename Vector, typename Element>
__device__ __forceinline__ void ForEach(int64_t vectors, int64_t n,
                                        const Vector& visit_vector,
                                        const Element& visit_element) {
  const int64_t threads = static_cast<int64_t>(gridDim.x) * kThreads;
  const int64_t first =
      static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (int64_t i = first; i < vectors; i += threads) visit_vector(i);
  for (int64_t i = vectors * kPer + first; i < n; i += threads) {
    visit_element(i);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    ForwardKernel(SwigluForwardProblem p, int64_t vectors) {
  unsigned largest = 0;
  ForEach<kPerVector<T>>(
      vectors, p.n,
      [&](int64_t i) {
        const uint4 y = SwigluOf<T>(static_cast<const uint4*>(p.gate)[i],
                                    static_cast<const uint4*>(p.up)[i]);
        largest = max(largest, AbsBitsOf<T>(y));
        static_cast<uint4*>(p.y)[i] = y;
      },
      [&](int64_t i) {
        T y;
        Narrow(SwigluOf<T>(ToFloat(static_cast<const T*>(p.gate)[i]),
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
      [&](int64_t i) {
        uint4 dgate, dup;
        SwigluGradients<T>(static_cast<const uint4*>(p.gate)[i],
                           static_cast<const uint4*>(p.up)[i],
                           static_cast<const uint4*>(p.dy)[i], &dgate, &dup);
        largest[0] = max(largest[0], AbsBitsOf<T>(dgate));
        largest[1] = max(largest[1], AbsBitsOf<T>(dup));
        static_cast<uint4*>(p.dgate)[i] = dgate;
        static_cast<uint4*>(p.dup)[i] = dup;
      },
      [&](int64_t i) {
        float dgate, dup;
        SwigluGradients<T>(ToFloat(static_cast<const T*>(p.gate)[i]),
                           ToFloat(static_cast<const T*>(p.up)[i]),
                           ToFloat(static_cast<const T*>(p.dy)[i]), &dgate,
                           &dup);
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
  const int64_t work = std::max(vectors, n - vectors * per_vector);
  return static_cast<unsigned>(
      EvenBlocks((work + kThreads - 1) / kThreads, resident));
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
