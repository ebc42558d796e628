// SPDX-License-Identifier: Apache-2.0

// From tensors and plans to what float8's CUDA launchers take. For the leaves
// alone; dtypes were checked by their callers.
#ifndef OCTET_FLOAT8_CUDA_OPERANDS_H_
#define OCTET_FLOAT8_CUDA_OPERANDS_H_

#include "base/dtype.h"
#include "base/tensor.h"
#include "float8/cuda/types.h"

namespace octet::float8::internal {

inline ElementType ElementOf(DType dtype) {
  return dtype == DType::kF32    ? ElementType::kF32
         : dtype == DType::kBf16 ? ElementType::kBf16
                                 : ElementType::kF16;
}

inline Fp8 Fp8Of(DType dtype) {
  return dtype == DType::kF8E5M2 ? Fp8::kE5M2 : Fp8::kE4M3;
}

inline MatrixIn MatrixOf(const TensorView& view) {
  return {view.data(), ElementOf(view.dtype()), view.rows(), view.cols()};
}

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_OPERANDS_H_
