// SPDX-License-Identifier: Apache-2.0
#include "models/layers/swiglu_cast.h"

#include <initializer_list>

#include "base/status_macros.h"
#include "float8/cast_kernel.h"
#include "models/layers/checks.h"
#include "models/layers/swiglu_cast_kernel.h"

namespace octet::models {
namespace internal {
namespace {

bool AllAligned(std::initializer_list<TensorView> views) {
  for (const TensorView& view : views) {
    if (!IsVectorAligned(view)) return false;
  }
  return true;
}

// The layer's tensors are like gate, those that may be absent too.
absl::Status CheckLike(const Stream& stream, const TensorView& gate,
                       std::initializer_list<Argument> required,
                       std::initializer_list<Argument> optional) {
  for (const Argument& argument : required) {
    OCTET_RETURN_IF_ERROR(
        CheckTensor(stream, argument, gate.dtype(), gate.shape()));
  }
  for (const Argument& argument : optional) {
    if (!argument.view.present()) continue;
    OCTET_RETURN_IF_ERROR(
        CheckTensor(stream, argument, gate.dtype(), gate.shape()));
  }
  return absl::OkStatus();
}

absl::Status Fit(const TensorView& like, const OutputCast& cast) {
  for (const float8::CastTarget* target : {&cast.first, &cast.second}) {
    if (target->out == nullptr) continue;
    OCTET_RETURN_IF_ERROR(float8::internal::FitQuantized(
        like, target->plan, target->layout, target->out));
  }
  return absl::OkStatus();
}

}  // namespace

TileFusion SwigluFusionOf(const SwigluCastArgs& args) {
  const SwigluForwardArgs& swiglu = args.swiglu;
  // An amax has no place in a fused cast, which has seen_amax for it.
  if (swiglu.amax.present() ||
      !AllAligned({swiglu.gate, swiglu.up, swiglu.y})) {
    return TileFusion::kNone;
  }
  return TileFusionOf(swiglu.gate, args.cast);
}

TileFusion SwigluFusionOf(const SwigluBackwardCastArgs& args) {
  const SwigluBackwardArgs& swiglu = args.swiglu;
  if (swiglu.dgate_amax.present() || swiglu.dup_amax.present() ||
      !AllAligned(
          {swiglu.gate, swiglu.up, swiglu.dy, swiglu.dgate, swiglu.dup})) {
    return TileFusion::kNone;
  }
  const TileFusion dgate = TileFusionOf(swiglu.gate, args.dgate);
  return dgate == TileFusionOf(swiglu.gate, args.dup) ? dgate
                                                      : TileFusion::kNone;
}

KernelSlot<SwigluCastKernel>& SwigluCastSlot() {
  static KernelSlot<SwigluCastKernel> slot("//models/layers:swiglu_cast_cuda",
                                           nullptr);
  return slot;
}

KernelSlot<SwigluBackwardCastKernel>& SwigluBackwardCastSlot() {
  static KernelSlot<SwigluBackwardCastKernel> slot(
      "//models/layers:swiglu_cast_cuda", nullptr);
  return slot;
}

}  // namespace internal

absl::Status SwigluCast(const Stream& stream, const SwigluCastArgs& args) {
  const TensorView& gate = args.swiglu.gate;
  OCTET_RETURN_IF_ERROR(
      internal::CheckOutputCast(stream, "swiglu_cast", gate, args.cast));
  if (!SwigluCastIsFused(args)) {
    SwigluForwardArgs swiglu = args.swiglu;
    Tensor memory;
    OCTET_ASSIGN_OR_RETURN(swiglu.y,
                           internal::PresentOr(swiglu.y, gate, &memory));
    OCTET_RETURN_IF_ERROR(SwigluForward(stream, swiglu));
    return internal::CastOutput(stream, swiglu.y, swiglu.amax, args.cast);
  }
  OCTET_RETURN_IF_ERROR(internal::CheckLike(
      stream, gate,
      {{"swiglu_cast", "gate", gate}, {"swiglu_cast", "up", args.swiglu.up}},
      {{"swiglu_cast", "y", args.swiglu.y}}));
  OCTET_RETURN_IF_ERROR(internal::Fit(gate, args.cast));
  OCTET_ASSIGN_OR_RETURN(internal::SwigluCastKernel* const kernel,
                         internal::SwigluCastSlot().Get(stream.device()));
  return kernel(stream, args);
}

absl::Status SwigluBackwardCast(const Stream& stream,
                                const SwigluBackwardCastArgs& args) {
  const TensorView& gate = args.swiglu.gate;
  for (const OutputCast* cast : {&args.dgate, &args.dup}) {
    OCTET_RETURN_IF_ERROR(
        internal::CheckOutputCast(stream, "swiglu_cast", gate, *cast));
  }
  if (args.dgate.first.out == args.dup.first.out) {
    return absl::InvalidArgumentError(
        "swiglu_cast: dgate and dup have the same output");
  }
  if (!SwigluBackwardCastIsFused(args)) {
    SwigluBackwardArgs swiglu = args.swiglu;
    Tensor dgate, dup;
    OCTET_ASSIGN_OR_RETURN(swiglu.dgate,
                           internal::PresentOr(swiglu.dgate, gate, &dgate));
    OCTET_ASSIGN_OR_RETURN(swiglu.dup,
                           internal::PresentOr(swiglu.dup, gate, &dup));
    OCTET_RETURN_IF_ERROR(SwigluBackward(stream, swiglu));
    OCTET_RETURN_IF_ERROR(internal::CastOutput(stream, swiglu.dgate,
                                               swiglu.dgate_amax, args.dgate));
    return internal::CastOutput(stream, swiglu.dup, swiglu.dup_amax, args.dup);
  }
  OCTET_RETURN_IF_ERROR(
      internal::CheckLike(stream, gate,
                          {{"swiglu_cast", "gate", gate},
                           {"swiglu_cast", "up", args.swiglu.up},
                           {"swiglu_cast", "dy", args.swiglu.dy}},
                          {{"swiglu_cast", "dgate", args.swiglu.dgate},
                           {"swiglu_cast", "dup", args.swiglu.dup}}));
  OCTET_RETURN_IF_ERROR(internal::Fit(gate, args.dgate));
  OCTET_RETURN_IF_ERROR(internal::Fit(gate, args.dup));
  OCTET_ASSIGN_OR_RETURN(
      internal::SwigluBackwardCastKernel* const kernel,
      internal::SwigluBackwardCastSlot().Get(stream.device()));
  return kernel(stream, args);
}

bool SwigluCastIsFused(const SwigluCastArgs& args) {
  return internal::SwigluFusionOf(args) != internal::TileFusion::kNone;
}

bool SwigluBackwardCastIsFused(const SwigluBackwardCastArgs& args) {
  return internal::SwigluFusionOf(args) != internal::TileFusion::kNone;
}

}  // namespace octet::models
