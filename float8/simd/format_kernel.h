// SPDX-License-Identifier: Apache-2.0

// The vector loops of formats, amax and cast over one row of a matrix.
//
// One source compiled for several instruction sets with bit-identical results;
// NaN, infinity and subnormal values take the same path as all others. A row is
// split into blocks of `block` elements, the last one shorter, or each element
// has its own scale (columns).
#ifndef OCTET_FLOAT8_SIMD_FORMAT_KERNEL_H_
#define OCTET_FLOAT8_SIMD_FORMAT_KERNEL_H_

#include <cstdint>

#include "base/dtype.h"
#include "base/float16.h"
#include "base/simd.h"
#include "float8/format_traits.h"

namespace octet::float8::internal {

// `in` is n elements of T; amax is f32 >= 0 or NaN, and starts at 0.
template <typename T>
struct EncodeKernels {
  // out[i] = encode(float(in[i]) * scales[i / block])
  void (*encode_blocks)(const T* in, int64_t n, int64_t block,
                        const float* scales, uint8_t* out);
  // out[i] = encode(float(in[i]) * scales[i])
  void (*encode_columns)(const T* in, int64_t n, const float* scales,
                         uint8_t* out);
};

template <typename T>
struct AmaxKernels {
  // amax[i / block] = max(amax[i / block], |in[i]|)
  void (*blocks)(const T* in, int64_t n, int64_t block, float* amax);
  // amax[i] = max(amax[i], |in[i]|)
  void (*columns)(const T* in, int64_t n, float* amax);
};

template <typename T>
struct DecodeKernels {
  // out[i] = T(float(in[i]) * multipliers[i / block])
  void (*blocks)(const uint8_t* in, int64_t n, int64_t block,
                 const float* multipliers, T* out);
  void (*columns)(const uint8_t* in, int64_t n, const float* multipliers,
                  T* out);
};

// T is float, Bfloat16 or Float16; `isa` must be usable here.
template <typename T>
const EncodeKernels<T>& EncodeKernelsFor(DType format, Overflow overflow,
                                         Isa isa);
template <typename T>
const AmaxKernels<T>& AmaxKernelsFor(Isa isa);
template <typename T>
const DecodeKernels<T>& DecodeKernelsFor(DType format, Isa isa);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_SIMD_FORMAT_KERNEL_H_
