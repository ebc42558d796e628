// SPDX-License-Identifier: Apache-2.0

// Checks of a layer's arguments.
#ifndef OCTET_MODELS_LAYERS_CHECKS_H_
#define OCTET_MODELS_LAYERS_CHECKS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::models::internal {

// What a layer was given for one of its arguments.
struct Argument {
  absl::string_view layer;
  absl::string_view name;
  const TensorView& view;
};

// InvalidArgument, naming both, if dtype, shape or device are others.
absl::Status CheckTensor(const Stream& stream, const Argument& argument,
                         DType dtype, const Shape& shape);

// InvalidArgument unless the dtype is one that activations may have: f32, bf16
// or f64.
absl::Status CheckActivation(const Argument& argument);

// For an amax that a layer gives of an output of the dtype: absent, or f32
// [1, 1]; float8 is not made from f64.
absl::Status CheckAmax(const Stream& stream, const Argument& argument,
                       DType output);

// The dtype of weight gradients and statistics: f64 for f64, else f32.
DType StatisticOf(DType activation);

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CHECKS_H_
