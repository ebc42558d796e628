// SPDX-License-Identifier: Apache-2.0

// Products of small matrices that stay in a core's cache, for use inside a
// kernel: on one thread, for the instruction set that the kernel is compiled
// for. (Large ones are float8/gemm.h's.)
#ifndef OCTET_MODELS_LAYERS_SMALL_MATMUL_H_
#define OCTET_MODELS_LAYERS_SMALL_MATMUL_H_

#include <cstdint>
#include <cstring>

#include "models/layers/elements.h"

namespace octet::models::internal {

// A matrix whose element [i, k] lies at data[i * row_stride + k * col_stride].
template <typename T>
struct StridedMatrix {
  const T* data;
  int64_t row_stride;
  int64_t col_stride;
};

// One tile of `kRows` rows and kVectors vectors of columns; sums stay in
// registers over all of the inner dimension.
template <int kRows, int kVectors, int kVectorBytes, typename T>
OCTET_ALWAYS_INLINE void MatmulTile(int64_t inner, StridedMatrix<T> a,
                                    const T* b, int64_t ldb, bool accumulate,
                                    T* c, int64_t ldc) {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  constexpr int64_t kLanes = kVectorBytes / sizeof(T);
  Vector sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      if (accumulate) {
        std::memcpy(&sum[r][v], c + r * ldc + v * kLanes, sizeof(Vector));
      } else {
        sum[r][v] = Vector{};
      }
    }
  }
  for (int64_t k = 0; k < inner; ++k) {
    Vector column[kVectors];
    std::memcpy(column, b + k * ldb, sizeof(column));
    for (int r = 0; r < kRows; ++r) {
      const T value = a.data[r * a.row_stride + k * a.col_stride];
      for (int v = 0; v < kVectors; ++v) sum[r][v] += value * column[v];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    std::memcpy(c + r * ldc, sum[r], sizeof(sum[r]));
  }
}

template <int kRows, int kVectorBytes, typename T>
OCTET_ALWAYS_INLINE void MatmulRows(int64_t n, int64_t inner,
                                    StridedMatrix<T> a, const T* b, int64_t ldb,
                                    bool accumulate, T* c, int64_t ldc) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(T);
  int64_t j = 0;
  for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
    MatmulTile<kRows, 2, kVectorBytes>(inner, a, b + j, ldb, accumulate, c + j,
                                       ldc);
  }
  for (; j + kLanes <= n; j += kLanes) {
    MatmulTile<kRows, 1, kVectorBytes>(inner, a, b + j, ldb, accumulate, c + j,
                                       ldc);
  }
  for (; j < n; ++j) {
    for (int r = 0; r < kRows; ++r) {
      T sum = accumulate ? c[r * ldc + j] : T(0);
      for (int64_t k = 0; k < inner; ++k) {
        sum += a.data[r * a.row_stride + k * a.col_stride] * b[k * ldb + j];
      }
      c[r * ldc + j] = sum;
    }
  }
}

// c [m, n] = a [m, inner] b [inner, n], added to c or not; b and c are
// row-major with ldb and ldc elements from row to row. Fast where n is a
// multiple of a vector.
template <int kVectorBytes, typename T>
OCTET_ALWAYS_INLINE void SmallMatmul(int64_t m, int64_t n, int64_t inner,
                                     StridedMatrix<T> a, const T* b,
                                     int64_t ldb, bool accumulate, T* c,
                                     int64_t ldc) {
  // As many sums as leave registers for the operands.
  constexpr int kRows = kVectorBytes == 64 ? 8 : 4;
  int64_t i = 0;
  for (; i + kRows <= m; i += kRows) {
    MatmulRows<kRows, kVectorBytes>(
        n, inner, {a.data + i * a.row_stride, a.row_stride, a.col_stride}, b,
        ldb, accumulate, c + i * ldc, ldc);
  }
  for (; i < m; ++i) {
    MatmulRows<1, kVectorBytes>(
        n, inner, {a.data + i * a.row_stride, a.row_stride, a.col_stride}, b,
        ldb, accumulate, c + i * ldc, ldc);
  }
}

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_SMALL_MATMUL_H_
