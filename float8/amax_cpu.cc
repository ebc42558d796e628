// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "base/float16.h"
#include "base/simd.h"
#include "float8/amax_kernel.h"
#include "float8/simd/format_kernel.h"
#include "float8/tile_kernel.h"

namespace octet::float8::internal {
namespace {

template <typename T>
void AmaxOfPiece(const T* in, int64_t cols, const TileWalk& walk,
                 const Piece& piece, float* amax) {
  const AmaxKernels<T>& kernels = AmaxKernelsFor<T>(BestIsa());
  for (int64_t row = piece.row; row < piece.row_end; ++row) {
    const T* first = in + ElementIndex(row, cols, piece.col);
    if (walk.by_column()) {
      kernels.columns(first, piece.cols(), amax);
    } else {
      kernels.blocks(first, piece.cols(), walk.block(piece), amax);
    }
  }
}

template <typename T>
void AmaxOf(const T* in, int64_t rows, int64_t cols, Granularity granularity,
            float* out, int64_t num_scales) {
  std::fill(out, out + num_scales, 0.0f);
  const TileWalk walk(granularity, rows, cols);
  if (walk.local()) {
    walk.ForEach([&](const Piece& piece) {
      AmaxOfPiece(in, cols, walk, piece, out + piece.scale);
    });
    return;
  }
  // Tiles span pieces: each piece takes its own maximum first. A maximum does
  // not depend on the order of its terms, so neither does the result.
  absl::Mutex mutex;
  walk.ForEach([&](const Piece& piece) {
    std::vector<float> partial(walk.num_scales(piece), 0.0f);
    AmaxOfPiece(in, cols, walk, piece, partial.data());
    absl::MutexLock lock(&mutex);
    AmaxKernelsFor<float>(BestIsa()).columns(
        partial.data(), static_cast<int64_t>(partial.size()),
        out + piece.scale);
  });
}

}  // namespace

absl::Status AmaxCpu(const Stream&, const TensorView& in,
                     Granularity granularity, const TensorView& out,
                     const AmaxOptions&) {
  const int64_t rows = in.rows(), cols = in.cols();
  float* const amax = out.as<float>();
  const int64_t n = out.num_elements();
  switch (in.dtype()) {
    case DType::kBf16:
      AmaxOf(in.as<Bfloat16>(), rows, cols, granularity, amax, n);
      break;
    case DType::kF16:
      AmaxOf(in.as<Float16>(), rows, cols, granularity, amax, n);
      break;
    default:
      AmaxOf(in.as<float>(), rows, cols, granularity, amax, n);
  }
  return absl::OkStatus();
}

}  // namespace octet::float8::internal
