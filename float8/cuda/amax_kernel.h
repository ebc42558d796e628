// SPDX-License-Identifier: Apache-2.0

// Launchers of the amax kernels: plain pointers, for the leaves alone. All
// queue work and return the launch's error; nothing here allocates or waits.
#ifndef OCTET_FLOAT8_CUDA_AMAX_KERNEL_H_
#define OCTET_FLOAT8_CUDA_AMAX_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "float8/cuda/types.h"

namespace octet::float8::internal {

// What shares an amax.
enum class AmaxTile : uint8_t {
  kTensor,
  kRow,
  kColumn,
  k1x128,
  k128x1,
  k128x128,
  k1x32,
  k32x1,
};

// How the blocks of one amax meet: in an atomic maximum of a zeroed output, or
// in partial maxima that a second launch reduces. Same bits.
enum class AmaxMeeting : uint8_t { kAtomic, kTwoStage };

// Launch numbers. `splits` blocks share one amax (1: each block stores its
// own).
struct AmaxLaunch {
  int64_t blocks = 0;
  int threads_x = 0;
  int threads_y = 1;
  int64_t splits = 1;
  std::string ToString() const;
};

// Words that are zero before and after each launch: of Stream::Counters.
using AmaxCounters = uint32_t*;

struct AmaxProblem {
  MatrixIn in;  // neither side empty
  AmaxTile tile = AmaxTile::kTensor;
  AmaxMeeting meeting = AmaxMeeting::kTwoStage;
  float* out = nullptr;      // row-major, as ScaleShape
  float* partial = nullptr;  // AmaxPartials(...) floats
  AmaxCounters counters = nullptr;
};

AmaxLaunch AmaxLaunchOf(const MatrixIn& in, AmaxTile tile, int device);

// Floats of scratch for the two-stage meeting; 0 where the blocks do not meet.
int64_t AmaxPartials(const AmaxProblem& problem, int device);

// One launch where each amax has a block and for a tensor, whose last block
// reduces what the others leave; else two, or a fill and one.
cudaError_t LaunchAmax(const AmaxProblem& problem, int device,
                       cudaStream_t stream);

// out[i] = the largest of partial[j * outputs + i], j below `terms`.
cudaError_t LaunchReduceColumns(const float* partial, int64_t outputs,
                                int64_t terms, float* out, cudaStream_t stream);

// kTensor's share of the two above.
AmaxLaunch AmaxOfTensorLaunch(const MatrixIn& in, int device);
cudaError_t LaunchAmaxOfTensor(const AmaxProblem& problem, int device,
                               cudaStream_t stream);

// Of every row and every column, from one read, where it fits: rows of aligned
// vectors that a block can hold. `partial` has AmaxOfRowsAndColumnsLaunch(...)
// .splits * cols floats, at a multiple of 16 bytes.
bool AmaxOfRowsAndColumnsFits(const MatrixIn& in);
AmaxLaunch AmaxOfRowsAndColumnsLaunch(const MatrixIn& in, int device);
cudaError_t LaunchAmaxOfRowsAndColumns(const MatrixIn& in, float* row_amax,
                                       float* column_amax, float* partial,
                                       int device, cudaStream_t stream);

// The amax of many tensors in one launch, two-stage. Job i's blocks are `first`
// to that of the next job less 1, each of `chunk` elements.
inline constexpr int kMaxAmaxJobs = 64;
struct AmaxJobs {
  struct Job {
    const void* data;
    int64_t elements;
    int64_t first;
  };
  Job jobs[kMaxAmaxJobs];
  int count;
  int64_t chunk;
  int64_t blocks;  // of all jobs
  float* out;      // [count]
  float* partial;  // [blocks]
  AmaxCounters counters;
};
cudaError_t LaunchAmaxOfMany(const AmaxJobs& jobs, ElementType type,
                             cudaStream_t stream);

// Multiprocessors of a device, asked once.
int MultiprocessorsOf(int device);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_AMAX_KERNEL_H_
