// SPDX-License-Identifier: Apache-2.0

// Launchers of the cast kernels: plain pointers, for the leaves alone. All
// queue work and return the launch's error; nothing here allocates or waits.
#ifndef OCTET_FLOAT8_CUDA_CAST_KERNEL_H_
#define OCTET_FLOAT8_CUDA_CAST_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "float8/cuda/types.h"

namespace octet::float8::internal {

// Where a scale comes from.
enum class ScaleSource : uint8_t {
  kScale,  // from[...]
  kAmax,   // the formula on from[...]
  kInput,  // the formula on the amax of all of `in`, which each block takes
  kTile,   // the formula on the amax that the kernel takes of the tile
};

// f32 elements (i, j), where i counts rows or bands of 128 rows and j columns
// or bands of columns, as the granularity has it. A stride of 0: all share one.
struct ScaleArray {
  float* data = nullptr;  // null: absent
  int64_t row_stride = 0;
  int64_t col_stride = 0;
};

// How scale varies within a 128x128 tile.
enum class ScaleKind : uint8_t {
  kTile,          // not at all: tensor, 128x128
  kRow,           // row, 1x128
  kColumn,        // column, 128x1
  kRowAndColumn,  // row-major bytes by 1x128, transposed ones by 128x1
};

struct ScaleTarget {
  ScaleSource source = ScaleSource::kTile;
  bool power_of_two = false;
  const float* from = nullptr;  // with the strides of `scale`
  ScaleArray scale;             // written unless it is the source
  ScaleArray reciprocal;
  ScaleArray transposed_reciprocal;
  float* seen_amax = nullptr;  // with the strides of `scale`; zeroed if shared
};

// Runs the work only if *history_amax is 0 or *seen_amax is not finite: a cast
// by a scale from history, to be done again by the amax that it saw.
struct CastGate {
  const float* history_amax = nullptr;  // null: always
  const float* seen_amax = nullptr;
};

// What one launch quantises. Neither side is empty.
struct CastProblem {
  MatrixIn in;
  uint8_t* data = nullptr;        // [rows, cols]; null: not written
  uint8_t* transposed = nullptr;  // [cols, rows]; null: not written
  ScaleTarget scale;
  ScaleTarget transposed_scale;      // of kRowAndColumn's transposed bytes
  float* column_partials = nullptr;  // [row tiles, cols]: sums; null: none
  CastGate gate;
  bool reversed = false;  // from the end: what an amax before it read last
};

// Launch numbers.
struct CastLaunch {
  int64_t blocks = 0;
  int threads_x = 0;
  int threads_y = 1;
  std::string ToString() const;
};

// Any layout: a block a 128x128 tile, which it reads once.
cudaError_t LaunchCastTiles(const CastProblem& problem, Fp8 format,
                            ScaleKind kind, cudaStream_t stream);
CastLaunch CastTilesLaunch(const CastProblem& problem);

// Row-major bytes, one scale for all: memory in order. Source kTile only for
// matrices of at most FlatElements(type) elements.
cudaError_t LaunchCastFlat(const CastProblem& problem, Fp8 format,
                           cudaStream_t stream);
CastLaunch CastFlatLaunch(const CastProblem& problem);
int64_t FlatElements(ElementType type);

// Row-major bytes by row, source kTile, one read.
cudaError_t LaunchCastRows(const CastProblem& problem, Fp8 format,
                           cudaStream_t stream);
CastLaunch CastRowsLaunch(const MatrixIn& in);
// False where rows are too few and long for a block each.
bool CastRowsFits(const MatrixIn& in, int device);

// What an empty matrix has: scales (i, j) of amax 0, or from an array.
cudaError_t LaunchSettleScales(const ScaleTarget& target, int64_t rows,
                               int64_t cols, Fp8 format, cudaStream_t stream);

// One scale for all, source kTile, one read: the tensor stays on the chip until
// its amax is known. `counters`: three zeroed words, zero again afterwards.
cudaError_t LaunchCastResident(const CastProblem& problem, Fp8 format,
                               int device, uint32_t* counters,
                               cudaStream_t stream);
bool CastResidentFits(const CastProblem& problem, int device);

// sums[c] = sum over the row tiles of partials[.., c], in a fixed order.
cudaError_t LaunchColumnSum(const float* partials, int64_t row_tiles,
                            int64_t cols, float* sums, cudaStream_t stream);

// Many matrices of one type and format, kind kTile, best all aligned or none:
// tiles of matrix i are blocks first[i] to first[i + 1] - 1.
inline constexpr int kMaxCasts = 64;
struct CastProblems {
  CastProblem problems[kMaxCasts];
  int64_t first[kMaxCasts + 1];
  int count;
};
bool CastIsAligned(const CastProblem& problem);
cudaError_t LaunchCastMany(const CastProblems& problems, ElementType type,
                           Fp8 format, cudaStream_t stream);

// out[r, c] = value of (transposed ? in[c, r] : in[r, c]) times the reciprocal
// of scale (r >> row_shift, c >> col_shift).
struct DequantizeProblem {
  const uint8_t* in;
  bool transposed;
  ScaleArray scale;
  int row_shift;  // log2 of a tile's rows; any where the stride is 0
  int col_shift;
  int64_t rows;
  int64_t cols;
  ElementType type;
  void* out;
};
cudaError_t LaunchDequantize(const DequantizeProblem& problem, Fp8 format,
                             cudaStream_t stream);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_CAST_KERNEL_H_
