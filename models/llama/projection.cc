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

namespace {

bool ScalesByTensorAmax(const float8::OperandPlan& plan) {
  return plan.is_float8 && plan.mode == float8::ScalingMode::kDynamic &&
         plan.cast.granularity == float8::Granularity::kTensor;
}

}  // namespace

bool Projection::wants_input_amax() const {
  return ScalesByTensorAmax(recipe_.forward.a);
}

bool Projection::wants_gradient_amax() const {
  return ScalesByTensorAmax(recipe_.dgrad.a) ||
         ScalesByTensorAmax(recipe_.wgrad.a);
}

bool Projection::IsPrepared(int64_t version) const {
  return version == version_ && recipe_.forward.b.is_float8 &&
         recipe_.dgrad.b.is_float8;
}

absl::Status Projection::Prepare(const Stream& stream, const TensorView& weight,
                                 const TensorView& amax, int64_t version) {
  if (version == version_) {
    // The same values, but a store may have put them elsewhere.
    weight_.value = weight;
    return absl::OkStatus();
  }
  OCTET_RETURN_IF_ERROR(float8::PrepareWeight(
      stream, recipe_, {weight, amax, &scaling_.weight}, &weight_));
  version_ = version;
  return absl::OkStatus();
}

void Projection::VisitScaling(
    const std::function<void(const std::string&, float8::DelayedScale*)>& f) {
  f(name_ + ".input", &scaling_.input);
  f(name_ + ".weight", &scaling_.weight);
  f(name_ + ".grad_output", &scaling_.grad_output);
}

Tensor SharedCasts::TakeBytes(int64_t cols) {
  return std::exchange(bytes_[cols], Tensor());
}

void SharedCasts::GiveBytes(Tensor bytes) {
  const int64_t cols = bytes.view().cols();
  bytes_[cols] = std::move(bytes);
}

namespace {

// All float8 layers have one recipe: the first one's history serves all.
Projection* FirstFloat8(absl::Span<Projection* const> readers) {
  for (Projection* reader : readers) {
    if (reader->is_float8()) return reader;
  }
  return nullptr;
}

}  // namespace

void SharedInput::TakeBytes(int64_t cols, SharedCasts* shared) {
  Tensor& bytes = float8_.first.data;
  if (!bytes.view().present()) bytes = shared->TakeBytes(cols);
}

absl::Status SharedInput::Prepare(const Stream& stream, const TensorView& x,
                                  const TensorView& amax,
                                  absl::Span<Projection* const> readers,
                                  SharedCasts* shared) {
  plain_.value = x;
  Projection* const reader = FirstFloat8(readers);
  if (reader == nullptr) return absl::OkStatus();
  TakeBytes(x.cols(), shared);
  return float8::PrepareInput(stream, reader->recipe(),
                              {x, amax, &reader->scaling().input}, &float8_);
}

std::optional<float8::OperandCasts> SharedInput::Casts(
    const Stream& stream, int64_t cols, absl::Span<Projection* const> readers,
    SharedCasts* shared) {
  Projection* const reader = FirstFloat8(readers);
  if (reader == nullptr) return std::nullopt;
  TakeBytes(cols, shared);
  return float8::InputCasts(stream, reader->recipe(), &float8_);
}

absl::Status SharedInput::Forward(const Stream& stream,
                                  const Projection& reader,
                                  const TensorView& y) const {
  return float8::LinearForward(stream, reader.recipe(), For(reader),
                               reader.weight(), TensorView(), y);
}

void SharedInput::EndForward(SharedCasts* shared) {
  // The CPU reads the same bytes in backward. On a GPU that reads the
  // transposed ones, or the value itself.
  Tensor& bytes = float8_.first.data;
  if (bytes.view().empty() || bytes.view().device().kind == DeviceKind::kCpu) {
    return;
  }
  shared->GiveBytes(std::exchange(bytes, Tensor()));
}

absl::Status SharedInput::Backward(const Stream& stream, Projection& reader,
                                   const OutputGradient& g,
                                   const TensorView& dx,
                                   float8::GradientMode dx_mode,
                                   const WeightGradient& dw,
                                   SharedCasts* shared) const {
  float8::LinearGradients gradients;
  gradients.dx = dx;
  gradients.dx_mode = dx_mode;
  gradients.dw = dw.dw;
  gradients.dw_mode = dw.mode;
  if (g.forms != nullptr) {
    return float8::LinearBackward(stream, reader.recipe(), For(reader),
                                  reader.weight(), *g.forms, gradients);
  }
  return float8::LinearBackward(
      stream, reader.recipe(), For(reader), reader.weight(),
      {g.g, g.amax, &reader.scaling().grad_output},
      shared->GradientForms(g.g.cols(), reader.is_float8()), gradients);
}

}  // namespace octet::models
