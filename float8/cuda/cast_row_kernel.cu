// SPDX-License-Identifier: Apache-2.0

// Row-major casts that read memory in order: one scale for all, or one a row.
// Outputs are overwritten.
#include <algorithm>

#include "float8/cuda/amax_kernel.h"
#include "float8/cuda/cast_access.cuh"
#include "float8/cuda/cast_scale.cuh"
#include "float8/cuda/dispatch.cuh"

namespace octet::float8::internal {
namespace {

// The same chunk either way. Wide blocks for small matrices, where each block
// reads all of the input first.
constexpr int kFlatThreads = 256;
constexpr int kFlatVectors = 8;
constexpr int kWideThreads = 1024;
constexpr int kWideVectors = 2;
constexpr int kLoopThreads = 512;
// Vectors of a row in a thread's registers.
constexpr int kRowVectors = 4;
constexpr int kMaxRowThreads = 1024;

template <typename T, Fp8 kFormat>
__device__ __forceinline__ void StoreVector(const uint4& v, float scale,
                                            uint8_t* to) {
  float x[kPerVector<T>];
  Unpack<T>(v, x);
  uint32_t q[kPerVector<T> / 4];
#pragma unroll
  for (int k = 0; k < kPerVector<T>; k += 4) {
    q[k / 4] =
        Encode4<kFormat>(Scaled(x[k], scale), Scaled(x[k + 1], scale),
                         Scaled(x[k + 2], scale), Scaled(x[k + 3], scale));
  }
  if constexpr (kPerVector<T> == 8) {
    __stcs(reinterpret_cast<uint2*>(to), make_uint2(q[0], q[1]));
  } else {
    __stcs(reinterpret_cast<uint32_t*>(to), q[0]);
  }
}

template <typename T, Fp8 kFormat, int kThreads, int kVectors>
__global__ __launch_bounds__(kThreads) void CastFlatKernel(
    const __grid_constant__ CastProblem p, bool vectors) {
  AwaitPredecessor();
  constexpr int kPer = kPerVector<T>;
  constexpr int64_t kChunk = kThreads * kVectors * kPer;
  __shared__ unsigned shared[64];
  if (IsClosed(p.gate)) return;
  const unsigned block = p.reversed ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const int64_t begin = block * kChunk;
  const int n = static_cast<int>(min(kChunk, p.in.rows * p.in.cols - begin));
  const T* const in = static_cast<const T*>(p.in.data) + begin;
  uint8_t* const out = p.data + begin;
  const int whole = vectors ? n / kPer * kPer : 0;
  uint4 v[kVectors];
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const int at = (threadIdx.x + k * kThreads) * kPer;
    v[k] = at < whole ? LoadVector(in + at) : make_uint4(0, 0, 0, 0);
  }
  unsigned bits = 0;
  if (NeedsTileAmax(p.scale)) {
    uint32_t largest = 0;
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      largest = MaxWord<T>(largest, AbsMaxOfVector<T>(v[k]));
    }
    bits = WordBits<T>(largest);
    for (int i = whole + threadIdx.x; i < n; i += kThreads) {
      bits = max(bits, AbsBits(ToFloat(in[i])));
    }
  }
  // One amax or scale for all: (0, 0), which the first block writes.
  const float scale = TileScale<T, kFormat>(
      p.in, p.scale, block, 0, GivenOf(p.scale, block, 0), bits, shared);
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const int at = (threadIdx.x + k * kThreads) * kPer;
    if (at < whole) StoreVector<T, kFormat>(v[k], scale, out + at);
  }
#pragma unroll 4
  for (int i = whole + threadIdx.x; i < n; i += kThreads) {
    out[i] = Encode1<kFormat>(Scaled(ToFloat(in[i]), scale));
  }
}

// threads.y rows a block, each in its threads' registers.
template <typename T, Fp8 kFormat>
__global__ __launch_bounds__(kMaxRowThreads) void CastRowsKernel(
    const __grid_constant__ CastProblem p) {
  AwaitPredecessor();
  constexpr int kPer = kPerVector<T>;
  __shared__ unsigned shared[32];
  const int64_t row =
      static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const bool exists = row < p.in.rows;
  const T* const in = static_cast<const T*>(p.in.data) + row * p.in.cols;
  uint4 v[kRowVectors];
#pragma unroll
  for (int k = 0; k < kRowVectors; ++k) {
    const int at = (threadIdx.x + k * blockDim.x) * kPer;
    v[k] =
        exists && at < p.in.cols ? LoadVector(in + at) : make_uint4(0, 0, 0, 0);
  }
  uint32_t largest = 0;
#pragma unroll
  for (int k = 0; k < kRowVectors; ++k) {
    largest = MaxWord<T>(largest, AbsMaxOfVector<T>(v[k]));
  }
  unsigned bits = WarpMax(WordBits<T>(largest));
  const unsigned warps = blockDim.x / 32, lane = threadIdx.x % 32;
  if (warps > 1) {
    unsigned* const own = shared + threadIdx.y * warps;
    if (lane == 0) own[threadIdx.x / 32] = bits;
    __syncthreads();
    bits = WarpMax(lane < warps ? own[lane] : 0u);
  }
  if (!exists) return;
  const float scale =
      Settle<kFormat>(p.scale, row, 0, 0.0f, bits, threadIdx.x == 0);
  uint8_t* const out = p.data + row * p.in.cols;
#pragma unroll
  for (int k = 0; k < kRowVectors; ++k) {
    const int at = (threadIdx.x + k * blockDim.x) * kPer;
    if (at < p.in.cols) StoreVector<T, kFormat>(v[k], scale, out + at);
  }
}

// A block a row of any length at any address; the second read of it comes from
// a cache.
template <typename T, Fp8 kFormat>
__global__ __launch_bounds__(kLoopThreads) void CastLongRowsKernel(
    const __grid_constant__ CastProblem p, bool vectors) {
  AwaitPredecessor();
  constexpr int kPer = kPerVector<T>;
  __shared__ unsigned shared[32];
  const int64_t row = blockIdx.x, cols = p.in.cols;
  const T* const in = static_cast<const T*>(p.in.data) + row * cols;
  uint8_t* const out = p.data + row * cols;
  const unsigned bits =
      BlockMax(AmaxOfSpan<T, 4>(in, cols, threadIdx.x, blockDim.x), shared);
  const float scale =
      Settle<kFormat>(p.scale, row, 0, 0.0f, bits, threadIdx.x == 0);
  const int64_t whole = vectors ? cols : 0;
#pragma unroll 4
  for (int64_t i = threadIdx.x * kPer; i < whole; i += blockDim.x * kPer) {
    StoreVector<T, kFormat>(LoadVector(in + i), scale, out + i);
  }
#pragma unroll 4
  for (int64_t i = whole + threadIdx.x; i < cols; i += blockDim.x) {
    out[i] = Encode1<kFormat>(Scaled(ToFloat(in[i]), scale));
  }
}

// Whole warps that hold a row.
int64_t ThreadsOfRow(const MatrixIn& in) {
  const int64_t vectors = CeilDiv(in.cols * SizeOfElement(in.type), 16);
  return CeilDiv(CeilDiv(vectors, kRowVectors), 32) * 32;
}

bool RowsAreVectors(const CastProblem& p) {
  const CastAccess access = AccessOf(p);
  return access.in_vectors && access.data_vectors;
}

}  // namespace

int64_t FlatElements(ElementType type) {
  return kFlatThreads * kFlatVectors * 16 / SizeOfElement(type);
}

CastLaunch CastFlatLaunch(const CastProblem& p) {
  CastLaunch launch;
  launch.blocks = CeilDiv(p.in.rows * p.in.cols, FlatElements(p.in.type));
  launch.threads_x =
      p.scale.source == ScaleSource::kInput ? kWideThreads : kFlatThreads;
  return launch;
}

cudaError_t LaunchCastFlat(const CastProblem& p, Fp8 format,
                           cudaStream_t stream) {
  static_assert(kFlatThreads * kFlatVectors == kWideThreads * kWideVectors,
                "one chunk");
  const CastLaunch launch = CastFlatLaunch(p);
  const bool vectors = IsAligned(p.in.data, 16) &&
                       IsAligned(p.data, 16 / SizeOfElement(p.in.type));
  return ForTypeAndFormat(p.in.type, format, [&](auto tag, auto constant) {
    using T = typename decltype(tag)::type;
    constexpr Fp8 kFormat = constant.value;
    const auto kernel =
        launch.threads_x == kWideThreads
            ? &CastFlatKernel<T, kFormat, kWideThreads, kWideVectors>
            : &CastFlatKernel<T, kFormat, kFlatThreads, kFlatVectors>;
    return LaunchDependent(kernel, launch.blocks, launch.threads_x, 0, stream,
                           p, vectors);
  });
}

bool CastRowsFits(const MatrixIn& in, int device) {
  return ThreadsOfRow(in) <= kMaxRowThreads ||
         in.rows >= 2 * MultiprocessorsOf(device);
}

CastLaunch CastRowsLaunch(const MatrixIn& in) {
  const int64_t threads = ThreadsOfRow(in);
  CastLaunch launch;
  launch.blocks = in.rows;
  if (!RowsAreAligned(in) || threads > kMaxRowThreads) {
    launch.threads_x = kLoopThreads;
  } else {
    launch.threads_x = static_cast<int>(threads);
    launch.threads_y = std::max(1, 256 / launch.threads_x);
    launch.blocks = CeilDiv(in.rows, launch.threads_y);
  }
  return launch;
}

cudaError_t LaunchCastRows(const CastProblem& p, Fp8 format,
                           cudaStream_t stream) {
  const bool vectors = RowsAreVectors(p);
  const bool in_registers = vectors && ThreadsOfRow(p.in) <= kMaxRowThreads;
  const CastLaunch launch = CastRowsLaunch(p.in);
  return ForTypeAndFormat(p.in.type, format, [&](auto tag, auto constant) {
    using T = typename decltype(tag)::type;
    constexpr Fp8 kFormat = constant.value;
    if (in_registers) {
      return LaunchDependent(&CastRowsKernel<T, kFormat>, launch.blocks,
                             dim3(launch.threads_x, launch.threads_y), 0,
                             stream, p);
    }
    return LaunchDependent(&CastLongRowsKernel<T, kFormat>, p.in.rows,
                           kLoopThreads, 0, stream, p, vectors);
  });
}

}  // namespace octet::float8::internal
