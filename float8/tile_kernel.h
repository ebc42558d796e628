// SPDX-License-Identifier: Apache-2.0

// How the CPU walks a matrix whose tiles share a scale: in pieces that hold
// whole tiles and stay in a core's cache, so that a piece can be read twice.
#ifndef OCTET_FLOAT8_TILE_KERNEL_H_
#define OCTET_FLOAT8_TILE_KERNEL_H_

#include <algorithm>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "base/shape.h"
#include "float8/scaling.h"

namespace octet::float8::internal {

// Rows [row, row_end) and columns [col, col_end) of the matrix. `scale` is the
// index of its first scale; its scales are one row of them.
struct Piece {
  int64_t row;
  int64_t row_end;
  int64_t col;
  int64_t col_end;
  int64_t scale;

  int64_t rows() const { return row_end - row; }
  int64_t cols() const { return col_end - col; }
};

class TileWalk {
 public:
  TileWalk(Granularity granularity, int64_t rows, int64_t cols);

  // Whether each piece holds all of its tiles. Otherwise (tensor, column) tiles
  // span pieces.
  bool local() const { return tile_.rows != 0; }
  // Each element of a row has its own scale.
  bool by_column() const { return tile_.cols == 1; }
  // Elements of a row of `piece` that share a scale.
  int64_t block(const Piece& piece) const {
    return tile_.cols == 0 ? std::max<int64_t>(piece.cols(), 1) : tile_.cols;
  }
  int64_t num_scales(const Piece& piece) const {
    return tile_.cols == 0 ? 1 : CeilDiv(piece.cols(), tile_.cols);
  }

  // All pieces, on the CPU's cores.
  void ForEach(absl::FunctionRef<void(const Piece&)> body) const;

 private:
  Piece PieceAt(int64_t i) const;

  int64_t rows_;
  int64_t cols_;
  int64_t scale_cols_;
  Tile tile_;
  int64_t piece_rows_;
  int64_t piece_cols_;
  int64_t pieces_across_;
};

// Element i of the matrix, in 64 bits whatever the sizes.
constexpr int64_t ElementIndex(int64_t row, int64_t cols, int64_t col) {
  return row * cols + col;
}

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_TILE_KERNEL_H_
