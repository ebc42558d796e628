// SPDX-License-Identifier: Apache-2.0
#include "float8/transpose_kernel.h"

#include <algorithm>

#include "base/parallel.h"

namespace octet::float8::internal {

void TransposeBytes(const uint8_t* in, int64_t rows, int64_t cols,
                    uint8_t* out) {
  // A tile of both matrices stays in a core's first cache.
  constexpr int64_t kTile = 64;
  ParallelFor(cols, kTile, [&](int64_t begin, int64_t end) {
    for (int64_t row = 0; row < rows; row += kTile) {
      const int64_t row_end = std::min(rows, row + kTile);
      for (int64_t c = begin; c < end; ++c) {
        for (int64_t r = row; r < row_end; ++r)
          out[c * rows + r] = in[r * cols + c];
      }
    }
  });
}

}  // namespace octet::float8::internal
