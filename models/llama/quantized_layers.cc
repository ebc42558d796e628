// SPDX-License-Identifier: Apache-2.0
#include "models/llama/quantized_layers.h"

#include <array>
#include <optional>

#include "base/status_macros.h"
#include "models/layers/output_cast.h"
#include "models/layers/rms_norm_cast.h"
#include "models/layers/swiglu_cast.h"

namespace octet::models {
namespace {

// Of memory for an amax: what the readers' casts ask for.
TensorView InputAmax(const OutputReaders& readers, const TensorView& memory) {
  for (const Projection* reader : readers.projections) {
    if (reader->wants_input_amax()) return memory;
  }
  return TensorView();
}

// Of memory for an output: absent if float8 is all that is read of it.
TensorView PlainOutput(const OutputReaders& readers, const TensorView& memory) {
  for (const Projection* reader : readers.projections) {
    if (reader->reads_input_again()) return memory;
  }
  return TensorView();
}

OutputCast ToOutputCast(const float8::OperandCasts& casts) {
  return {casts.first, casts.second};
}

// The cast of a gradient that nobody reads but in float8; none if not so.
std::optional<OutputCast> GradientCast(const Stream& stream,
                                       const Projection& reader,
                                       float8::LinearOperand* forms) {
  if (!reader.recipe().dgrad.a.is_float8 ||
      !reader.recipe().wgrad.a.is_float8) {
    return std::nullopt;
  }
  const auto casts = float8::GradientCasts(stream, reader.recipe(), forms);
  if (!casts.has_value()) return std::nullopt;
  return ToOutputCast(*casts);
}

}  // namespace

absl::Status NormaliseFor(const Stream& stream, const RmsNormForwardArgs& norm,
                          const OutputReaders& readers) {
  const auto casts = readers.input->Casts(stream, norm.y.cols(),
                                          readers.projections, readers.casts);
  if (casts.has_value()) {
    RmsNormCastArgs fused = {norm, ToOutputCast(*casts)};
    fused.norm.y = PlainOutput(readers, norm.y);
    fused.norm.amax = TensorView();
    if (RmsNormCastIsFused(fused)) {
      OCTET_RETURN_IF_ERROR(RmsNormCast(stream, fused));
      readers.input->PrepareMade(fused.norm.y);
      return absl::OkStatus();
    }
  }
  RmsNormForwardArgs alone = norm;
  alone.amax = InputAmax(readers, norm.amax);
  OCTET_RETURN_IF_ERROR(RmsNormForward(stream, alone));
  return readers.input->Prepare(stream, alone.y, alone.amax,
                                readers.projections, readers.casts);
}

absl::Status ActivateFor(const Stream& stream, const SwigluForwardArgs& swiglu,
                         const OutputReaders& readers) {
  const auto casts = readers.input->Casts(stream, swiglu.y.cols(),
                                          readers.projections, readers.casts);
  if (casts.has_value()) {
    SwigluCastArgs fused = {swiglu, ToOutputCast(*casts)};
    fused.swiglu.y = PlainOutput(readers, swiglu.y);
    fused.swiglu.amax = TensorView();
    if (SwigluCastIsFused(fused)) {
      OCTET_RETURN_IF_ERROR(SwigluCast(stream, fused));
      readers.input->PrepareMade(fused.swiglu.y);
      return absl::OkStatus();
    }
  }
  SwigluForwardArgs alone = swiglu;
  alone.amax = InputAmax(readers, swiglu.amax);
  OCTET_RETURN_IF_ERROR(SwigluForward(stream, alone));
  return readers.input->Prepare(stream, alone.y, alone.amax,
                                readers.projections, readers.casts);
}

absl::Status ActivateBackwardFor(const Stream& stream,
                                 const SwigluBackwardArgs& swiglu,
                                 const Projection& gate, const Projection& up,
                                 SharedCasts* casts, GateGradients* gradients) {
  std::array<float8::LinearOperand, 2>* const forms = casts->PairOfForms();
  const auto gate_cast = GradientCast(stream, gate, &(*forms)[0]);
  const auto up_cast = GradientCast(stream, up, &(*forms)[1]);
  if (gate_cast.has_value() && up_cast.has_value()) {
    const SwigluBackwardCastArgs fused = {
        {swiglu.gate, swiglu.up, swiglu.dy, {}, {}}, *gate_cast, *up_cast};
    if (SwigluBackwardCastIsFused(fused)) {
      *gradients = {{{}, {}, &(*forms)[0]}, {{}, {}, &(*forms)[1]}};
      return SwigluBackwardCast(stream, fused);
    }
  }
  SwigluBackwardArgs alone = swiglu;
  if (!gate.wants_gradient_amax()) alone.dgate_amax = TensorView();
  if (!up.wants_gradient_amax()) alone.dup_amax = TensorView();
  *gradients = {{alone.dgate, alone.dgate_amax}, {alone.dup, alone.dup_amax}};
  return SwigluBackward(stream, alone);
}

}  // namespace octet::models
