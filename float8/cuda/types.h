// SPDX-License-Identifier: Apache-2.0

// What launchers and kernels of float8 both name: element types, formats,
// matrices.
#ifndef OCTET_FLOAT8_CUDA_TYPES_H_
#define OCTET_FLOAT8_CUDA_TYPES_H_

#include <cstdint>

namespace octet::float8::internal {

enum class ElementType : uint8_t { kF32, kBf16, kF16 };
enum class Fp8 : uint8_t { kE4M3, kE5M2 };

// Row-major and contiguous.
struct MatrixIn {
  const void* data = nullptr;
  ElementType type = ElementType::kBf16;
  int64_t rows = 0;
  int64_t cols = 0;
};

// Side of the square that a block works on.
inline constexpr int kTile = 128;

constexpr int64_t Tiles(int64_t n) { return (n + kTile - 1) / kTile; }

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_TYPES_H_
