// SPDX-License-Identifier: Apache-2.0
#include "float8/tile_kernel.h"

#include "base/parallel.h"

namespace octet::float8::internal {
namespace {

// 64 Ki elements: 256 KiB of f32, of which a core's second-level cache holds at
// least one.
constexpr int64_t kPieceElements = int64_t{1} << 16;
constexpr int64_t kCols = 4096;  // a multiple of every tile's columns

}  // namespace

TileWalk::TileWalk(Granularity granularity, int64_t rows, int64_t cols)
    : rows_(rows),
      cols_(cols),
      scale_cols_(ScaleShape(granularity, rows, cols).cols()),
      tile_(TileOf(granularity)) {
  const int64_t whole = std::max<int64_t>(cols, 1);
  if (tile_.rows > 1) {
    piece_rows_ = tile_.rows;
    piece_cols_ = std::min(whole, kPieceElements / tile_.rows);
  } else if (tile_.rows == 1) {
    piece_rows_ = 1;
    piece_cols_ = tile_.cols == 0 ? whole : std::min(whole, kPieceElements);
  } else {
    piece_cols_ = std::min(whole, tile_.cols == 0 ? kPieceElements : kCols);
    piece_rows_ = std::max<int64_t>(1, kPieceElements / piece_cols_);
  }
  pieces_across_ = CeilDiv(cols, piece_cols_);
}

Piece TileWalk::PieceAt(int64_t i) const {
  Piece piece;
  piece.row = i / pieces_across_ * piece_rows_;
  piece.row_end = std::min(rows_, piece.row + piece_rows_);
  piece.col = i % pieces_across_ * piece_cols_;
  piece.col_end = std::min(cols_, piece.col + piece_cols_);
  const int64_t scale_row = tile_.rows == 0 ? 0 : piece.row / tile_.rows;
  const int64_t scale_col = tile_.cols == 0 ? 0 : piece.col / tile_.cols;
  piece.scale = ElementIndex(scale_row, scale_cols_, scale_col);
  return piece;
}

void TileWalk::ForEach(absl::FunctionRef<void(const Piece&)> body) const {
  const int64_t pieces = CeilDiv(rows_, piece_rows_) * pieces_across_;
  // Small pieces (a short row each) are handed out many at a time.
  const int64_t elements = piece_rows_ * piece_cols_;
  const int64_t grain = std::max<int64_t>(1, kPieceElements / elements);
  ParallelFor(pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(PieceAt(i));
  });
}

}  // namespace octet::float8::internal
