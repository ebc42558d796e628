// SPDX-License-Identifier: Apache-2.0
#include "float8/tile_kernel.h"

#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"

namespace octet::float8::internal {
namespace {

constexpr Granularity kAll[] = {
    Granularity::kTensor,     Granularity::kRow,
    Granularity::kColumn,     Granularity::kBlock1x128,
    Granularity::kBlock128x1, Granularity::kBlock128x128,
    Granularity::kBlock1x32,  Granularity::kBlock32x1};

// Case 12 (pytorch/FBGEMM#2131): past 2^31.
TEST(TileKernelTest, IndexIsSixtyFourBits) {
  EXPECT_EQ(ElementIndex(65536, 32769, 32768), int64_t{2147581952});
}

// Every element belongs to one piece, and to the scale that its tile names.
TEST(TileKernelTest, PiecesCoverTheMatrixOnce) {
  for (Granularity granularity : kAll) {
    const Tile tile = TileOf(granularity);
    for (const auto& size : {std::pair<int64_t, int64_t>{1, 1},
                             {1, 70000},
                             {300, 5},
                             {130, 257},
                             {3, 9000},
                             {260, 1030}}) {
      // Lambdas of C++17 cannot capture structured bindings.
      const int64_t rows = size.first;
      const int64_t cols = size.second;
      SCOPED_TRACE(::testing::Message()
                   << Name(granularity) << " of " << rows << "x" << cols);
      const TileWalk walk(granularity, rows, cols);
      const int64_t scale_cols = ScaleShape(granularity, rows, cols).cols();
      std::vector<int> seen(rows * cols, 0);
      int wrong = 0;
      absl::Mutex mutex;
      walk.ForEach([&](const Piece& piece) {
        absl::MutexLock lock(&mutex);
        for (int64_t r = piece.row; r < piece.row_end; ++r) {
          for (int64_t c = piece.col; c < piece.col_end; ++c) {
            ++seen[ElementIndex(r, cols, c)];
            const int64_t within = (c - piece.col) / walk.block(piece);
            const int64_t want =
                (tile.rows == 0 ? 0 : r / tile.rows) * scale_cols +
                (tile.cols == 0 ? 0 : c / tile.cols);
            wrong += piece.scale + within != want;
            wrong += within >= walk.num_scales(piece);
          }
        }
      });
      EXPECT_EQ(wrong, 0);
      EXPECT_EQ(seen, std::vector<int>(rows * cols, 1));
    }
  }
}

TEST(TileKernelTest, EmptyMatricesHaveNoPieces) {
  for (Granularity granularity : kAll) {
    for (const auto& [rows, cols] :
         {std::pair<int64_t, int64_t>{0, 8}, {8, 0}, {0, 0}}) {
      TileWalk(granularity, rows, cols).ForEach([](const Piece&) {
        ADD_FAILURE();
      });
    }
  }
}

}  // namespace
}  // namespace octet::float8::internal
