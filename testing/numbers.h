// SPDX-License-Identifier: Apache-2.0

// Elements of any floating-point type as doubles and back: a plain reference
// for tests that shares no code with //float8.
#ifndef OCTET_TESTING_NUMBERS_H_
#define OCTET_TESTING_NUMBERS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/tensor.h"

namespace octet::testing {

// Exact, and element by element also for integers below 2^53. GPU memory is
// copied; work on it must have finished. Unimplemented for f8_e8m0.
absl::StatusOr<std::vector<double>> ToDoubles(const TensorView& tensor);

// Host memory, rounded to nearest even; float8 saturates. InvalidArgument if
// the counts differ, Unimplemented unless f64, f32, bf16, f16, e4m3 or e5m2.
absl::StatusOr<Tensor> FromDoubles(absl::Span<const double> values, DType dtype,
                                   const Shape& shape);

// A copy in host memory, from any device; work on it must have finished.
absl::StatusOr<Tensor> ToHost(const TensorView& tensor);

}  // namespace octet::testing

#endif  // OCTET_TESTING_NUMBERS_H_
