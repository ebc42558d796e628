// SPDX-License-Identifier: Apache-2.0
#include "models/layers/checks.h"

#include "absl/strings/str_cat.h"

namespace octet::models::internal {

absl::Status CheckTensor(const Stream& stream, const Argument& argument,
                         DType dtype, const Shape& shape) {
  const TensorView& view = argument.view;
  if (view.dtype() != dtype || view.shape() != shape ||
      view.device() != stream.device()) {
    return absl::InvalidArgumentError(absl::StrCat(
        argument.layer, ": ", argument.name, " is ", view.ToString(),
        ", expected ",
        TensorView(nullptr, dtype, shape, stream.device()).ToString()));
  }
  return absl::OkStatus();
}

absl::Status CheckActivation(const Argument& argument) {
  const DType dtype = argument.view.dtype();
  if (dtype != DType::kF32 && dtype != DType::kBf16 && dtype != DType::kF64) {
    return absl::InvalidArgumentError(
        absl::StrCat(argument.layer, ": ", argument.name, " is ",
                     argument.view.ToString(), ", expected f32, bf16 or f64"));
  }
  return absl::OkStatus();
}

absl::Status CheckAmax(const Stream& stream, const Argument& argument,
                       DType output) {
  if (!argument.view.present()) return absl::OkStatus();
  if (output == DType::kF64) {
    return absl::InvalidArgumentError(
        absl::StrCat(argument.layer, ": ", argument.name, " is ",
                     argument.view.ToString(), ", but not taken of f64"));
  }
  return CheckTensor(stream, argument, DType::kF32, Shape({1, 1}));
}

DType StatisticOf(DType activation) {
  return activation == DType::kF64 ? DType::kF64 : DType::kF32;
}

}  // namespace octet::models::internal
