// SPDX-License-Identifier: Apache-2.0

// Amax of whole tensors on the GPU, one or many in a launch: the last block of
// a tensor finishes it. Outputs are overwritten.
#include <algorithm>

#include "float8/cuda/amax_kernel.h"
#include "float8/cuda/dispatch.cuh"
#include "float8/cuda/tile.cuh"

namespace octet::float8::internal {
namespace {

constexpr int kUnroll = 4;
// Three blocks of 512 threads on each multiprocessor: few maxima to reduce, and
// 96 KB of loads in flight.
constexpr int kTensorThreads = 512;
constexpr int kTensorBlocksPerSm = 3;
constexpr int kManyThreads = 512;

// One of `blocks` blocks puts in its maximum; the last of them reduces all and
// sets the counters back. All threads of a block of whole warps call.
__device__ void MeetInOne(unsigned bits, int64_t block, int64_t blocks,
                          AmaxMeeting meeting, float* partial,
                          uint32_t* counters, float* out, unsigned* shared) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    if (meeting == AmaxMeeting::kAtomic) {
      atomicMax(counters + 1, bits);
    } else {
      partial[block] = __uint_as_float(bits);
    }
    __threadfence();
    // Wraps to 0 with the last.
    is_last = atomicInc(counters, static_cast<unsigned>(blocks - 1)) ==
              static_cast<unsigned>(blocks - 1);
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
  if (meeting == AmaxMeeting::kAtomic) {
    if (threadIdx.x == 0) *out = __uint_as_float(atomicExch(counters + 1, 0u));
    return;
  }
  bits = 0;
  for (int64_t i = threadIdx.x; i < blocks; i += blockDim.x) {
    bits = max(bits, __float_as_uint(__ldcg(partial + i)));
  }
  bits = BlockMax(bits, shared);
  if (threadIdx.x == 0) *out = __uint_as_float(bits);
}

// A tensor's blocks are interleaved, so that the grid moves through memory
// together and ends at its end.
template <typename T>
__global__ __launch_bounds__(kTensorThreads) void AmaxOfTensorKernel(
    const T* in, int64_t elements, AmaxMeeting meeting, float* partial,
    uint32_t* counters, float* out) {
  __shared__ unsigned shared[2][32];
  AwaitPredecessor();
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const unsigned bits = BlockMax(
      AmaxOfSpan<T, kUnroll>(
          in, elements,
          static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, threads),
      shared[0]);
  if (gridDim.x == 1) {
    if (threadIdx.x == 0) *out = __uint_as_float(bits);
    return;
  }
  MeetInOne(bits, blockIdx.x, gridDim.x, meeting, partial, counters, out,
            shared[1]);
}

template <typename T>
__global__ __launch_bounds__(kManyThreads) void AmaxOfManyKernel(
    const __grid_constant__ AmaxJobs jobs) {
  __shared__ unsigned shared[2][32];
  AwaitPredecessor();
  int low = 0, high = jobs.count - 1;  // the last job that starts by this block
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (jobs.jobs[middle].first <= blockIdx.x) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const AmaxJobs::Job& job = jobs.jobs[low];
  const int64_t begin = (blockIdx.x - job.first) * jobs.chunk;
  const int64_t n = min(jobs.chunk, job.elements - begin);
  const T* data = static_cast<const T*>(job.data) + begin;
  const unsigned bits = BlockMax(
      AmaxOfSpan<T, kUnroll>(data, n, threadIdx.x, kManyThreads), shared[0]);
  const int64_t end =
      low + 1 < jobs.count ? jobs.jobs[low + 1].first : jobs.blocks;
  MeetInOne(bits, blockIdx.x - job.first, end - job.first,
            AmaxMeeting::kTwoStage, jobs.partial + job.first,
            jobs.counters + low, jobs.out + low, shared[1]);
}

}  // namespace

AmaxLaunch AmaxOfTensorLaunch(const MatrixIn& in, int device) {
  const int64_t per_thread = kUnroll * 16 / SizeOfElement(in.type);
  AmaxLaunch launch;
  launch.threads_x = kTensorThreads;
  launch.splits = std::min<int64_t>(
      MultiprocessorsOf(device) * kTensorBlocksPerSm,
      CeilDiv(in.rows * in.cols, kTensorThreads * per_thread));
  launch.blocks = launch.splits;
  return launch;
}

cudaError_t LaunchAmaxOfTensor(const AmaxProblem& p, int device,
                               cudaStream_t stream) {
  const AmaxLaunch launch = AmaxOfTensorLaunch(p.in, device);
  return ForType(p.in.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Not LaunchDependent: its blocks would take places as they come free, some
    // multiprocessors then have more of them than others, and all have equal
    // shares: a sixth slower.
    AmaxOfTensorKernel<<<static_cast<unsigned>(launch.blocks), launch.threads_x,
                         0, stream>>>(static_cast<const T*>(p.in.data),
                                      p.in.rows * p.in.cols, p.meeting,
                                      p.partial, p.counters, p.out);
    return cudaGetLastError();
  });
}

cudaError_t LaunchAmaxOfMany(const AmaxJobs& jobs, ElementType type,
                             cudaStream_t stream) {
  return ForType(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return LaunchDependent(&AmaxOfManyKernel<T>, jobs.blocks, kManyThreads, 0,
                           stream, jobs);
  });
}

}  // namespace octet::float8::internal
