// SPDX-License-Identifier: Apache-2.0

#include "float8/linear.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "float8/cast.h"
#include "float8/gemm.h"

namespace octet::float8 {
namespace {

// By plan: from the tensor itself, or from its history.
absl::Status CastOperand(const Stream& stream, absl::string_view name,
                         const OperandPlan& plan, const TensorView& in,
                         DelayedScale* history, Quantized* out) {
  if (plan.mode == ScalingMode::kDynamic) {
    return Cast(stream, in, plan.cast, out);
  }
  if (history == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("linear: ", name, " has delayed scaling and no history"));
  }
  return history->Cast(stream, in, plan.cast, out);
}

bool SameForm(const OperandPlan& x, const OperandPlan& y) {
  return x.is_float8 == y.is_float8 && x.mode == y.mode && x.cast == y.cast;
}

// Casts for the two multiplications; one cast serves both where it can.
absl::Status PrepareOperand(const Stream& stream, absl::string_view name,
                            const OperandPlan& first, const OperandPlan& second,
                            const TensorView& value, DelayedScale* history,
                            LinearOperand* out) {
  out->value = value;
  if (first.is_float8) {
    OCTET_RETURN_IF_ERROR(
        CastOperand(stream, name, first, value, history, &out->first));
  } else {
    out->first = Quantized();
  }
  if (second.is_float8 && !SameForm(first, second)) {
    OCTET_RETURN_IF_ERROR(
        CastOperand(stream, name, second, value, history, &out->second));
  } else {
    out->second = Quantized();
  }
  return absl::OkStatus();
}

// The form that was made for `plan`, or the operand itself.
absl::StatusOr<GemmOperand> FormFor(absl::string_view name,
                                    const LinearOperand& operand,
                                    const OperandPlan& plan,
                                    const Quantized& made,
                                    Transpose transpose) {
  if (!plan.is_float8) return OperandOf(operand.value, transpose);
  if (made.data.view().data() == nullptr && operand.value.num_elements() > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "linear: ", name, " was not prepared for a recipe that wants it as ",
        Name(plan.cast.dtype), " by ", Name(plan.cast.granularity)));
  }
  if (made.plan != plan.cast) {
    return absl::FailedPreconditionError(absl::StrCat(
        "linear: ", name, " was prepared as ", Name(made.plan.dtype), " by ",
        Name(made.plan.granularity), ", the recipe wants ",
        Name(plan.cast.dtype), " by ", Name(plan.cast.granularity)));
  }
  return OperandOf(made, transpose);
}

const Quantized& SecondOf(const LinearOperand& operand,
                          const OperandPlan& first, const OperandPlan& second) {
  return SameForm(first, second) ? operand.first : operand.second;
}

GemmOptions OptionsOf(const GemmPlan& plan, GradientMode mode) {
  GemmOptions options;
  options.beta = mode == GradientMode::kAccumulate ? 1.0f : 0.0f;
  options.accumulation =
      plan.fast_accumulation ? Accumulation::kFast : Accumulation::kPrecise;
  return options;
}

}  // namespace

absl::Status PrepareInput(const Stream& stream, const Recipe& recipe,
                          const TensorView& x, DelayedScale* history,
                          LinearOperand* out) {
  return PrepareOperand(stream, "x", recipe.forward.a, recipe.wgrad.b, x,
                        history, out);
}

absl::Status PrepareWeight(const Stream& stream, const Recipe& recipe,
                           const TensorView& w, DelayedScale* history,
                           LinearOperand* out) {
  return PrepareOperand(stream, "w", recipe.forward.b, recipe.dgrad.b, w,
                        history, out);
}

absl::Status LinearForward(const Stream& stream, const Recipe& recipe,
                           const LinearOperand& x, const LinearOperand& w,
                           const TensorView& bias, const TensorView& y) {
  OCTET_ASSIGN_OR_RETURN(const GemmOperand a, FormFor("x", x, recipe.forward.a,
                                                      x.first, Transpose::kNo));
  OCTET_ASSIGN_OR_RETURN(
      const GemmOperand b,
      FormFor("w", w, recipe.forward.b, w.first, Transpose::kYes));
  GemmOptions options = OptionsOf(recipe.forward, GradientMode::kOverwrite);
  options.bias = bias;
  return Gemm(stream, a, b, options, y);
}

absl::Status LinearBackward(const Stream& stream, const Recipe& recipe,
                            const LinearOperand& x, const LinearOperand& w,
                            const TensorView& g, DelayedScale* history,
                            const LinearGradients& gradients) {
  const bool wants_dx = gradients.dx.present();
  const bool wants_dw = gradients.dw.present();
  // A multiplication that is skipped needs no cast.
  OperandPlan dgrad_g = recipe.dgrad.a, wgrad_g = recipe.wgrad.a;
  dgrad_g.is_float8 = dgrad_g.is_float8 && wants_dx;
  wgrad_g.is_float8 = wgrad_g.is_float8 && wants_dw;
  LinearOperand grad;
  OCTET_RETURN_IF_ERROR(
      PrepareOperand(stream, "g", dgrad_g, wgrad_g, g, history, &grad));
  if (wants_dx) {
    OCTET_ASSIGN_OR_RETURN(
        const GemmOperand a,
        FormFor("g", grad, recipe.dgrad.a, grad.first, Transpose::kNo));
    OCTET_ASSIGN_OR_RETURN(
        const GemmOperand b,
        FormFor("w", w, recipe.dgrad.b,
                SecondOf(w, recipe.forward.b, recipe.dgrad.b), Transpose::kNo));
    OCTET_RETURN_IF_ERROR(Gemm(stream, a, b,
                               OptionsOf(recipe.dgrad, gradients.dx_mode),
                               gradients.dx));
  }
  if (wants_dw) {
    OCTET_ASSIGN_OR_RETURN(
        const GemmOperand a,
        FormFor("g", grad, recipe.wgrad.a, SecondOf(grad, dgrad_g, wgrad_g),
                Transpose::kYes));
    OCTET_ASSIGN_OR_RETURN(
        const GemmOperand b,
        FormFor("x", x, recipe.wgrad.b,
                SecondOf(x, recipe.forward.a, recipe.wgrad.b), Transpose::kNo));
    OCTET_RETURN_IF_ERROR(Gemm(stream, a, b,
                               OptionsOf(recipe.wgrad, gradients.dw_mode),
                               gradients.dw));
  }
  return absl::OkStatus();
}

}  // namespace octet::float8
