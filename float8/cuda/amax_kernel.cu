// SPDX-License-Identifier: Apache-2.0

// Amax of rows, columns and tiles on the GPU. Each block reduces what it reads;
// where several share an amax they meet as AmaxMeeting says. Outputs are
// overwritten.
#include <algorithm>
#include <array>
#include <atomic>
#include <string>

#include "float8/cuda/amax_kernel.h"
#include "float8/cuda/dispatch.cuh"
#include "float8/cuda/tile.cuh"

namespace octet::float8::internal {
namespace {

constexpr int kUnroll = 4;
constexpr int kBlocksPerSm = 8;

// Registers for as many blocks on a multiprocessor.
template <typename T, bool kAligned>
inline constexpr int kTileBlocksPerSm = !kAligned        ? 1
                                        : sizeof(T) == 4 ? 2
                                                         : 4;

template <typename T, bool kAligned>
__device__ __forceinline__ void LoadPlace(const T* in, const TilePlace& place,
                                          int64_t cols,
                                          uint4 (&v)[TileMap<T>::kRows]) {
  if (!kAligned) {
    LoadTile<T, TileAccess::kAny>(in, cols, place, false, v);
  } else if (place.is_full()) {
    LoadTile<T, TileAccess::kFull>(in, cols, place, true, v);
  } else {
    LoadTile<T, TileAccess::kVectors>(in, cols, place, true, v);
  }
}

// Stores or raises.
__device__ void Meet(float* out, int64_t index, unsigned bits, bool atomic) {
  if (atomic) {
    AtomicMax(out + index, bits);
  } else {
    out[index] = __uint_as_float(bits);
  }
}

// threads.y rows a block, `splits` blocks a row. Two-stage: out is [rows,
// splits].
template <typename T>
__global__ void AmaxOfRowsKernel(const T* in, int64_t rows, int64_t cols,
                                 int64_t splits, bool atomic, float* out) {
  AwaitPredecessor();
  __shared__ unsigned shared[32];
  const int64_t row = blockIdx.x / splits * blockDim.y + threadIdx.y;
  const int64_t split = blockIdx.x % splits;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned warps = blockDim.x / 32;
  unsigned bits = 0;
  if (row < rows) {
    bits = AmaxOfSpan<T, kUnroll>(in + row * cols, cols,
                                  split * blockDim.x + threadIdx.x,
                                  splits * static_cast<int64_t>(blockDim.x));
  }
  bits = WarpMax(bits);
  if (warps > 1) {
    unsigned* const own = shared + threadIdx.y * warps;
    if (lane == 0) own[warp] = bits;
    __syncthreads();
    if (warp != 0) return;
    bits = WarpMax(lane < warps ? own[lane] : 0u);
  }
  if (threadIdx.x == 0 && row < rows) {
    Meet(out, atomic ? row : row * splits + split, bits, atomic);
  }
}

// 128 columns and `chunk` rows a block; two-stage: out is [row chunks, cols].
template <typename T, bool kAligned>
__global__ __launch_bounds__(
    kTileThreads,
    kTileBlocksPerSm<T, kAligned>) void AmaxOfColumnsKernel(const T* in,
                                                            int64_t rows,
                                                            int64_t cols,
                                                            int64_t chunk,
                                                            bool atomic,
                                                            float* out) {
  AwaitPredecessor();
  __shared__ uint4 shared[kTileWarps * kTile * sizeof(T) / 16];
  const auto strips = static_cast<unsigned>(TilesAlong(cols));
  const int64_t part = blockIdx.x / strips;
  const int64_t col = static_cast<int64_t>(blockIdx.x % strips) * kTile;
  const int64_t end = min(rows, (part + 1) * chunk);
  uint4 largest = make_uint4(0, 0, 0, 0);
  for (int64_t row = part * chunk; row < end; row += kTile) {
    uint4 v[TileMap<T>::kRows];
    LoadPlace<T, kAligned>(in, PlaceOf(row / kTile, col / kTile, end, cols),
                           cols, v);
    MaxOfColumns<T>(v, &largest);
  }
  ShareMaxOfColumns<T>(largest, shared);
  __syncthreads();
  const int64_t c = col + threadIdx.x;
  if (threadIdx.x < kTile && c < cols) {
    Meet(out, atomic ? c : part * cols + c, ColumnAmax<T>(shared, threadIdx.x),
         atomic);
  }
}

// One tile a block: out is [rows, column tiles] or [row tiles, column tiles].
template <typename T, bool kAligned>
__global__ __launch_bounds__(
    kTileThreads,
    kTileBlocksPerSm<T, kAligned>) void AmaxOfTilesKernel(const T* in,
                                                          int64_t rows,
                                                          int64_t cols,
                                                          bool by_row,
                                                          float* out) {
  AwaitPredecessor();
  __shared__ unsigned shared[kTile];
  const auto across = static_cast<unsigned>(TilesAlong(cols));
  const int64_t row = static_cast<int64_t>(blockIdx.x / across) * kTile;
  const unsigned tile_col = blockIdx.x % across;
  uint4 v[TileMap<T>::kRows];
  LoadPlace<T, kAligned>(in, PlaceOf(row / kTile, tile_col, rows, cols), cols,
                         v);
  if (!by_row) {
    const unsigned bits = BlockMax(AmaxOfThread<T>(v), shared);
    if (threadIdx.x == 0) out[blockIdx.x] = __uint_as_float(bits);
    return;
  }
  AmaxOfRows<T>(v, shared);
  __syncthreads();
  const int64_t r = row + threadIdx.x;
  if (threadIdx.x < kTile && r < rows) {
    out[r * across + tile_col] = __uint_as_float(shared[threadIdx.x]);
  }
}

// Tiles of 32 elements: a warp a tile of a row, a thread a tile of a column.
template <typename T>
__global__ void AmaxOf32Kernel(const T* in, int64_t rows, int64_t cols,
                               bool by_row, float* out) {
  AwaitPredecessor();
  const int64_t thread =
      static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (by_row) {
    const int64_t across = (cols + 31) / 32;
    const int64_t tile = thread / 32;
    const int64_t row = tile / across;
    const int64_t col = tile % across * 32 + thread % 32;
    if (row >= rows) return;  // a whole warp
    const unsigned bits =
        WarpMax(col < cols ? AbsBits(ToFloat(in[row * cols + col])) : 0u);
    if (thread % 32 == 0) out[tile] = __uint_as_float(bits);
    return;
  }
  const int64_t begin = thread / cols * 32, col = thread % cols;
  if (begin >= rows) return;
  unsigned bits = 0;
  for (int64_t row = begin; row < min(rows, begin + 32); ++row) {
    bits = max(bits, AbsBits(ToFloat(in[row * cols + col])));
  }
  out[thread] = __uint_as_float(bits);
}

// out[i] = max over j of in[i * terms + j]: a warp an output.
__global__ void ReduceRowsKernel(const float* in, int64_t outputs,
                                 int64_t terms, float* out) {
  AwaitPredecessor();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (i >= outputs) return;
  unsigned bits = 0;
  for (int64_t j = threadIdx.x; j < terms; j += 32) {
    bits = max(bits, __float_as_uint(in[i * terms + j]));
  }
  bits = WarpMax(bits);
  if (threadIdx.x == 0) out[i] = __uint_as_float(bits);
}

// out[i] = max over j of in[j * outputs + i]: 32 outputs a block, whose warps
// share the terms.
__global__ void ReduceColumnsKernel(const float* in, int64_t outputs,
                                    int64_t terms, float* out) {
  AwaitPredecessor();
  __shared__ unsigned shared[32][33];
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x;
  unsigned bits = 0;
  if (i < outputs) {
    for (int64_t j = threadIdx.y; j < terms; j += 32) {
      bits = max(bits, __float_as_uint(in[j * outputs + i]));
    }
  }
  shared[threadIdx.x][threadIdx.y] = bits;
  __syncthreads();
  bits = WarpMax(shared[threadIdx.y][threadIdx.x]);
  const int64_t own = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.y;
  if (threadIdx.x == 0 && own < outputs) out[own] = __uint_as_float(bits);
}

// Of a block of AmaxOfColumnsKernel.
int64_t RowsPerPart(const MatrixIn& in, int64_t parts) {
  return CeilDiv(Tiles(in.rows), parts) * kTile;
}

cudaError_t LaunchRows(const MatrixIn& in, const AmaxLaunch& launch,
                       bool atomic, float* out, cudaStream_t stream) {
  return ForType(in.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return LaunchDependent(&AmaxOfRowsKernel<T>, launch.blocks,
                           dim3(launch.threads_x, launch.threads_y), 0, stream,
                           static_cast<const T*>(in.data), in.rows, in.cols,
                           launch.splits, atomic, out);
  });
}

cudaError_t LaunchColumns(const MatrixIn& in, const AmaxLaunch& launch,
                          int64_t parts, bool atomic, float* out,
                          cudaStream_t stream) {
  return ForType(in.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = RowsAreAligned(in) ? &AmaxOfColumnsKernel<T, true>
                                           : &AmaxOfColumnsKernel<T, false>;
    return LaunchDependent(kernel, launch.blocks, kTileThreads, 0, stream,
                           static_cast<const T*>(in.data), in.rows, in.cols,
                           RowsPerPart(in, parts), atomic, out);
  });
}

cudaError_t LaunchTiles(const MatrixIn& in, const AmaxLaunch& launch,
                        bool by_row, float* out, cudaStream_t stream) {
  return ForType(in.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = RowsAreAligned(in) ? &AmaxOfTilesKernel<T, true>
                                           : &AmaxOfTilesKernel<T, false>;
    return LaunchDependent(kernel, launch.blocks, kTileThreads, 0, stream,
                           static_cast<const T*>(in.data), in.rows, in.cols,
                           by_row, out);
  });
}

cudaError_t Launch32(const MatrixIn& in, const AmaxLaunch& launch, bool by_row,
                     float* out, cudaStream_t stream) {
  return ForType(in.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return LaunchDependent(&AmaxOf32Kernel<T>, launch.blocks, launch.threads_x,
                           0, stream, static_cast<const T*>(in.data), in.rows,
                           in.cols, by_row, out);
  });
}

cudaError_t LaunchReduce(const AmaxProblem& p, const AmaxLaunch& launch,
                         cudaStream_t stream) {
  if (p.tile == AmaxTile::kColumn) {
    return LaunchReduceColumns(p.partial, p.in.cols, launch.splits, p.out,
                               stream);
  }
  return LaunchDependent(&ReduceRowsKernel, CeilDiv(p.in.rows, 8), dim3(32, 8),
                         0, stream, p.partial, p.in.rows, launch.splits, p.out);
}

}  // namespace

cudaError_t LaunchReduceColumns(const float* partial, int64_t outputs,
                                int64_t terms, float* out,
                                cudaStream_t stream) {
  return LaunchDependent(&ReduceColumnsKernel, CeilDiv(outputs, 32),
                         dim3(32, 32), 0, stream, partial, outputs, terms, out);
}

int MultiprocessorsOf(int device) {
  static std::array<std::atomic<int>, 64> known{};
  std::atomic<int>& cached = known[static_cast<size_t>(device) % known.size()];
  int count = cached.load(std::memory_order_relaxed);
  if (count == 0) {
    if (cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount,
                               device) != cudaSuccess) {
      count = 1;
    }
    cached.store(count, std::memory_order_relaxed);
  }
  return count;
}

std::string AmaxLaunch::ToString() const {
  return std::to_string(blocks) + " blocks of " + std::to_string(threads_x) +
         " x " + std::to_string(threads_y) + " threads, " +
         std::to_string(splits) + " to an amax";
}

AmaxLaunch AmaxLaunchOf(const MatrixIn& in, AmaxTile tile, int device) {
  const int64_t sms = MultiprocessorsOf(device);
  const int64_t per_thread = kUnroll * 16 / SizeOfElement(in.type);
  AmaxLaunch launch;
  launch.threads_x = kTileThreads;
  switch (tile) {
    case AmaxTile::kTensor:
      return AmaxOfTensorLaunch(in, device);
    case AmaxTile::kRow: {
      const int64_t wanted = CeilDiv(CeilDiv(in.cols, per_thread), 32) * 32;
      launch.threads_x = static_cast<int>(std::min<int64_t>(256, wanted));
      launch.threads_y = 256 / launch.threads_x;
      const int64_t groups = CeilDiv(in.rows, launch.threads_y);
      launch.splits =
          std::max<int64_t>(1, std::min(CeilDiv(wanted, launch.threads_x),
                                        sms * kBlocksPerSm / groups));
      launch.blocks = groups * launch.splits;
      break;
    }
    case AmaxTile::kColumn: {
      const int64_t bands = Tiles(in.rows), strips = Tiles(in.cols);
      const int64_t wanted = std::max<int64_t>(1, sms * kBlocksPerSm / strips);
      launch.splits = CeilDiv(bands, CeilDiv(bands, wanted));
      launch.blocks = strips * launch.splits;
      break;
    }
    case AmaxTile::k1x32:
    case AmaxTile::k32x1: {
      const int64_t threads = tile == AmaxTile::k1x32
                                  ? in.rows * CeilDiv(in.cols, 32) * 32
                                  : in.cols * CeilDiv(in.rows, 32);
      launch.blocks = CeilDiv(threads, launch.threads_x);
      break;
    }
    default:
      launch.blocks = Tiles(in.rows) * Tiles(in.cols);
  }
  return launch;
}

int64_t AmaxPartials(const AmaxProblem& problem, int device) {
  const AmaxLaunch launch = AmaxLaunchOf(problem.in, problem.tile, device);
  if (problem.meeting == AmaxMeeting::kAtomic || launch.splits == 1) return 0;
  switch (problem.tile) {
    case AmaxTile::kTensor:
      return launch.splits;
    case AmaxTile::kRow:
      return problem.in.rows * launch.splits;
    case AmaxTile::kColumn:
      return problem.in.cols * launch.splits;
    default:
      return 0;
  }
}

cudaError_t LaunchAmax(const AmaxProblem& p, int device, cudaStream_t stream) {
  const AmaxLaunch launch = AmaxLaunchOf(p.in, p.tile, device);
  switch (p.tile) {
    case AmaxTile::kTensor:
      return LaunchAmaxOfTensor(p, device, stream);
    case AmaxTile::k1x128:
    case AmaxTile::k128x128:
      return LaunchTiles(p.in, launch, p.tile == AmaxTile::k1x128, p.out,
                         stream);
    case AmaxTile::k1x32:
    case AmaxTile::k32x1:
      return Launch32(p.in, launch, p.tile == AmaxTile::k1x32, p.out, stream);
    case AmaxTile::k128x1:
      return LaunchColumns(p.in, launch, Tiles(p.in.rows), false, p.out,
                           stream);
    default:
      break;
  }
  const bool by_column = p.tile == AmaxTile::kColumn;
  const bool meet = launch.splits > 1;
  const bool atomic = meet && p.meeting == AmaxMeeting::kAtomic;
  if (atomic) {
    const int64_t outputs = by_column ? p.in.cols : p.in.rows;
    const cudaError_t error =
        cudaMemsetAsync(p.out, 0, outputs * sizeof(float), stream);
    if (error != cudaSuccess) return error;
  }
  float* const out = meet && !atomic ? p.partial : p.out;
  const cudaError_t error =
      by_column
          ? LaunchColumns(p.in, launch, launch.splits, atomic, out, stream)
          : LaunchRows(p.in, launch, atomic, out, stream);
  if (error != cudaSuccess || !meet || atomic) return error;
  return LaunchReduce(p, launch, stream);
}

}  // namespace octet::float8::internal
