// SPDX-License-Identifier: Apache-2.0

// A unit's gradients as layers want them, whether they are fresh or not.
#ifndef OCTET_MODELS_LLAMA_GRADIENTS_H_
#define OCTET_MODELS_LLAMA_GRADIENTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "fsdp/param_store.h"
#include "models/llama/projection.h"

namespace octet::models {

// Of a matrix that a linear layer writes or adds to.
inline WeightGradient GradientOf(const fsdp::UnitGradients& gradients,
                                 int64_t param) {
  return {gradients.views[param], gradients.fresh
                                      ? float8::GradientMode::kOverwrite
                                      : float8::GradientMode::kAccumulate};
}

// To add to: filled with zeros first where it is fresh.
inline absl::StatusOr<TensorView> ZeroIfFresh(
    const Stream& stream, const fsdp::UnitGradients& gradients, int64_t param) {
  const TensorView& view = gradients.views[param];
  if (gradients.fresh) OCTET_RETURN_IF_ERROR(FillZero(stream, view));
  return view;
}

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_GRADIENTS_H_
