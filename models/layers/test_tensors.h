// SPDX-License-Identifier: Apache-2.0

// Tensors of given or random values for the tests of models.
#ifndef OCTET_MODELS_LAYERS_TEST_TENSORS_H_
#define OCTET_MODELS_LAYERS_TEST_TENSORS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "base/tensor.h"

namespace octet::models {

// Standard normal numbers times `scale`; the same for the same seed.
std::vector<double> NormalValues(int64_t n, uint64_t seed, double scale = 1.0);

// On the CPU; values are rounded to a floating-point dtype. Ends the program
// when sizes differ or memory is short.
Tensor MakeTensor(DType dtype, const Shape& shape,
                  absl::Span<const double> values);
Tensor MakeTensor(const Shape& shape, absl::Span<const int32_t> values);
Tensor MakeZeros(DType dtype, const Shape& shape);

std::vector<double> Doubles(const TensorView& tensor);

// |a - b| / |b|, Frobenius norms; NaN, which no comparison passes, if sizes
// differ or either has one.
double ErrorOf(absl::Span<const double> a, absl::Span<const double> b);

}  // namespace octet::models

#endif  // OCTET_MODELS_LAYERS_TEST_TENSORS_H_
