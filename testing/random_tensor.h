// SPDX-License-Identifier: Apache-2.0

// Normal random tensors, the same on every machine.
#ifndef OCTET_TESTING_RANDOM_TENSOR_H_
#define OCTET_TESTING_RANDOM_TENSOR_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/tensor.h"

namespace octet::testing {

struct RandomOptions {
  double scale = 1.0;  // standard deviation
  // That many elements, at random places, become +outlier_value or
  // -outlier_value.
  int64_t outliers = 0;
  double outlier_value = 300.0;
  Device device;
};

// f64, f32, bf16, f16, f8_e4m3 (saturating) or f8_e5m2; Unimplemented for
// another. Element i depends on the seed and i alone.
absl::StatusOr<Tensor> RandomTensor(DType dtype, const Shape& shape,
                                    uint64_t seed,
                                    const RandomOptions& options = {});

}  // namespace octet::testing

#endif  // OCTET_TESTING_RANDOM_TENSOR_H_
