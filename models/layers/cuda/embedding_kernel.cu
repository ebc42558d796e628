// SPDX-License-Identifier: Apache-2.0

// The embedding on the GPU. Overwrites x; dtable accumulates: the blocks of an
// id's first token add the rows of all of its tokens, in order, to sums in f32
// that start with what is there and are rounded once.
#include <algorithm>

#include "models/layers/cuda/embedding_kernel.h"
#include "models/layers/cuda/vector.cuh"

namespace octet::models::internal {
namespace {

using float8::internal::ToFloat;

constexpr int kUnitsPerThread = 4;
constexpr int kMaxForwardThreads = 256;

// A row of x for each block, in `units` pieces.
template <typename Unit>
__global__ void __launch_bounds__(kMaxForwardThreads)
    GatherKernel(EmbeddingForwardProblem p, int64_t units, Unit nan) {
  const int64_t row = blockIdx.x;
  const int64_t id = p.ids[row];
  const bool known = id >= 0 && id < p.vocab;
  const Unit* const from = static_cast<const Unit*>(p.table) + id * units;
  Unit* const to = static_cast<Unit*>(p.x) + row * units;
  for (int64_t first = threadIdx.x; first < units;
       first += kUnitsPerThread * blockDim.x) {
    Unit values[kUnitsPerThread];
#pragma unroll
    for (int k = 0; k < kUnitsPerThread; ++k) {
      const int64_t i = first + k * blockDim.x;
      values[k] = known && i < units ? __ldg(from + i) : nan;
    }
#pragma unroll
    for (int k = 0; k < kUnitsPerThread; ++k) {
      const int64_t i = first + k * blockDim.x;
      if (i < units) to[i] = values[k];
    }
  }
}

template <typename Unit>
cudaError_t Gather(const EmbeddingForwardProblem& p, int64_t units, Unit nan,
                   cudaStream_t stream) {
  const int64_t warps =
      (units + 32 * kUnitsPerThread - 1) / (32 * kUnitsPerThread);
  const auto threads =
      static_cast<unsigned>(std::min<int64_t>(32 * warps, kMaxForwardThreads));
  GatherKernel<Unit>
      <<<static_cast<unsigned>(p.tokens), threads, 0, stream>>>(p, units, nan);
  return cudaGetLastError();
}

constexpr int kThreads = 128;
constexpr int kWords = 32;            // of 32 tokens: those looked through
constexpr int kTokens = 32 * kWords;  // at once
constexpr int kMaxColumns = 8;        // that a thread adds up

__global__ void PlacesKernel(EmbeddingBackwardProblem p) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= p.tokens) return;
  const int64_t id = p.ids[i];
  if (id < 0 || id >= p.vocab) return;
  atomicMin(p.places + id, static_cast<uint32_t>(i));
  atomicMin(p.places + p.vocab + id, static_cast<uint32_t>(p.tokens - 1 - i));
}

// Lists, in order, the tokens of [base, end) that are `id`, as distances from
// base: the first kTokens of them. All threads call and get how many.
__device__ int ListTokens(const int32_t* ids, int64_t base, int64_t end,
                          int32_t id, uint32_t (&words)[kWords],
                          int (&list)[kTokens], int* found) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int k = 0; k < kTokens / kThreads; ++k) {
    const int64_t i = base + k * kThreads + threadIdx.x;
    const unsigned word =
        __ballot_sync(kFullWarp, i < end && __ldg(ids + i) == id);
    if (lane == 0) words[k * (kThreads / 32) + warp] = word;
  }
  __syncthreads();
  if (warp == 0) {
    unsigned word = words[lane];
    int sum = __popc(word);
    int place = -sum;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      const int before = __shfl_up_sync(kFullWarp, sum, offset);
      if (lane >= static_cast<unsigned>(offset)) sum += before;
    }
    place += sum;
    for (; word != 0; word &= word - 1) {
      list[place++] = static_cast<int>(lane) * 32 + __ffs(word) - 1;
    }
    if (lane == 31) *found = sum;
  }
  __syncthreads();
  return *found;
}

// kCount columns from a place that is aligned for them, as they are stored.
template <typename T, int kCount>
struct alignas(16) Columns {
  uint32_t words[kCount * static_cast<int>(sizeof(T)) / 4];
};
template <typename T>
struct Columns<T, 1> {
  T value;
};

template <typename T, int kCount>
__device__ __forceinline__ void UnpackColumns(const Columns<T, kCount>& in,
                                              float (&out)[kCount]) {
  if constexpr (kCount == 1) {
    out[0] = ToFloat(in.value);
  } else {
    constexpr int kPerWord = 4 / static_cast<int>(sizeof(T));
#pragma unroll
    for (int i = 0; i < kCount / kPerWord; ++i) {
      float8::internal::UnpackWord<T>(in.words[i], out + i * kPerWord);
    }
  }
}

template <typename T, int kCount>
__device__ __forceinline__ Columns<T, kCount> PackColumns(
    const float (&x)[kCount]) {
  Columns<T, kCount> out;
  if constexpr (kCount == 1) {
    Narrow(x[0], &out.value);
  } else if constexpr (sizeof(T) == 2) {
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      out.words[i] = PackPair(x[2 * i], x[2 * i + 1]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) out.words[i] = __float_as_uint(x[i]);
  }
  return out;
}

// sums[c] += the columns of a row
template <typename T, int kCount>
__device__ __forceinline__ void AddColumns(const Columns<T, kCount>& row,
                                           float (&sums)[kCount]) {
  float values[kCount];
  UnpackColumns(row, values);
#pragma unroll
  for (int c = 0; c < kCount; ++c) sums[c] = __fadd_rn(sums[c], values[c]);
}

template <typename Dx, typename Dtable, int kColumns>
__global__ void __launch_bounds__(kThreads, 8)
    AddKernel(EmbeddingBackwardProblem p) {
  constexpr int kAhead = sizeof(Dx) == 2 ? 8 : 4;  // rows being loaded
  __shared__ uint32_t words[kWords];
  __shared__ int list[kTokens];
  __shared__ int found;
  const int64_t first = blockIdx.x;
  const int64_t column =
      (static_cast<int64_t>(blockIdx.y) * kThreads + threadIdx.x) * kColumns;
  const bool active = column < p.hidden;
  using In = Columns<Dx, kColumns>;
  using Out = Columns<Dtable, kColumns>;
  const Dx* const dx = static_cast<const Dx*>(p.dx) + column;
  const int32_t id = p.ids[first];
  // Loaded while the id is on its way, though not all of the blocks use it.
  In row = {};
  if (active) row = *reinterpret_cast<const In*>(dx + first * p.hidden);
  if (id < 0 || id >= p.vocab) return;
  const uint32_t of_first = p.places[id];
  const uint32_t after_last = p.places[p.vocab + id];
  if (of_first != first) return;
  const int64_t end = p.tokens - after_last;
  auto* const out = reinterpret_cast<Out*>(static_cast<Dtable*>(p.dtable) +
                                           id * p.hidden + column);
  float sums[kColumns] = {};
  if (active) {
    UnpackColumns(*out, sums);
    AddColumns(row, sums);
  }
  for (int64_t base = first + 1; base < end; base += kTokens) {
    const int count = ListTokens(p.ids, base, end, id, words, list, &found);
    for (int n = 0; active && n < count; n += kAhead) {
      In rows[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (n + k < count) {
          rows[k] = *reinterpret_cast<const In*>(dx + (base + list[n + k]) *
                                                          p.hidden);
        }
      }
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (n + k < count) AddColumns(rows[k], sums);
      }
    }
  }
  if (active) *out = PackColumns<Dtable, kColumns>(sums);
}

template <typename Dx, typename Dtable>
cudaError_t Add(const EmbeddingBackwardProblem& p, cudaStream_t stream) {
  const bool wide =
      IsAligned(p.dx) && IsAligned(p.dtable) && p.hidden % kMaxColumns == 0;
  const int64_t columns = kThreads * (wide ? kMaxColumns : 1);
  const dim3 blocks(static_cast<unsigned>(p.tokens),
                    static_cast<unsigned>((p.hidden + columns - 1) / columns));
  if (wide) {
    AddKernel<Dx, Dtable, kMaxColumns><<<blocks, kThreads, 0, stream>>>(p);
  } else {
    AddKernel<Dx, Dtable, 1><<<blocks, kThreads, 0, stream>>>(p);
  }
  return cudaGetLastError();
}

template <typename Dx>
cudaError_t AddTo(const EmbeddingBackwardProblem& p, cudaStream_t stream) {
  return p.dtable_type == ElementType::kBf16 ? Add<Dx, __nv_bfloat16>(p, stream)
                                             : Add<Dx, float>(p, stream);
}

}  // namespace

cudaError_t LaunchEmbeddingForward(const EmbeddingForwardProblem& p,
                                   cudaStream_t stream) {
  const bool bf16 = p.type == ElementType::kBf16;
  const int64_t bytes = p.hidden * (bf16 ? 2 : 4);
  if (IsAligned(p.table) && IsAligned(p.x) && bytes % 16 == 0) {
    const unsigned nan = bf16 ? 0x7fc07fc0u : 0x7fc00000u;
    return Gather<uint4>(p, bytes / 16, {nan, nan, nan, nan}, stream);
  }
  return bf16 ? Gather<unsigned short>(p, p.hidden, 0x7fc0, stream)
              : Gather<unsigned>(p, p.hidden, 0x7fc00000u, stream);
}

cudaError_t LaunchEmbeddingBackward(const EmbeddingBackwardProblem& p,
                                    cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(
      p.places, 0xff, 2 * sizeof(uint32_t) * static_cast<size_t>(p.vocab),
      stream);
  if (error != cudaSuccess) return error;
  PlacesKernel<<<static_cast<unsigned>((p.tokens + 255) / 256), 256, 0,
                 stream>>>(p);
  return p.dx_type == ElementType::kBf16 ? AddTo<__nv_bfloat16>(p, stream)
                                         : AddTo<float>(p, stream);
}

}  // namespace octet::models::internal
