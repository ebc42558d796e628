// SPDX-License-Identifier: Apache-2.0
#include "models/llama/projection.h"

#include <utility>

#include "base/status_macros.h"

namespace octet::models {

Projection::Projection(const float8::Recipe& recipe, std::string name,
                       int64_t n, int64_t k)
    : name_(std::move(name)), n_(n), k_(k) {
  is_float8_ = float8::UsesFloat8(recipe) &&
               float8::Decide(recipe, name_, n, k).is_float8;
  // A default recipe is high precision throughout.
  if (is_float8_) recipe_ = recipe;
  scaling_ = {float8::DelayedScale(recipe.delayed),
              float8::DelayedScale(recipe.delayed),
              float8::DelayedScale(recipe.delayed)};
}

absl::Status Projection::Prepare(const Stream& stream, const TensorView& weight,
                                 int64_t version) {
  if (version == version_) {
    // The same values, but a store may have put them elsewhere.
    weight_.value = weight;
    return absl::OkStatus();
  }
  OCTET_RETURN_IF_ERROR(float8::PrepareWeight(
      stream, recipe_, {weight, {}, &scaling_.weight}, &weight_));
  version_ = version;
  return absl::OkStatus();
}

void Projection::VisitScaling(
    const std::function<void(const std::string&, float8::DelayedScale*)>& f) {
  f(name_ + ".input", &scaling_.input);
  f(name_ + ".weight", &scaling_.weight);
  f(name_ + ".grad_output", &scaling_.grad_output);
}

absl::Status SharedInput::Prepare(const Stream& stream, const TensorView& x,
                                  absl::Span<Projection* const> readers) {
  plain_.value = x;
  for (Projection* reader : readers) {
    if (!reader->is_float8()) continue;
    // All float8 layers have one recipe: the first one's history serves all.
    return float8::PrepareInput(stream, reader->recipe(),
                                {x, {}, &reader->scaling().input}, &float8_);
  }
  return absl::OkStatus();
}

absl::Status SharedInput::Forward(const Stream& stream,
                                  const Projection& reader,
                                  const TensorView& y) const {
  return float8::LinearForward(stream, reader.recipe(), For(reader),
                               reader.weight(), TensorView(), y);
}

absl::Status SharedInput::Backward(const Stream& stream, Projection& reader,
                                   const TensorView& g, const TensorView& dx,
                                   float8::GradientMode dx_mode,
                                   const TensorView& dw) const {
  float8::LinearGradients gradients;
  gradients.dx = dx;
  gradients.dx_mode = dx_mode;
  gradients.dw = dw;
  gradients.dw_mode = float8::GradientMode::kAccumulate;
  // Freed with this call: kept for every layer they would add up.
  float8::LinearOperand casts;
  return float8::LinearBackward(
      stream, reader.recipe(), For(reader), reader.weight(),
      {g, {}, &reader.scaling().grad_output}, &casts, gradients);
}

}  // namespace octet::models
