// SPDX-License-Identifier: Apache-2.0

#include "float8/linear.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "float8/cast.h"
#include "float8/gemm.h"

namespace octet::float8 {
namespace {

bool SameForm(const OperandPlan& x, const OperandPlan& y) {
  return x.is_float8 == y.is_float8 && x.mode == y.mode && x.cast == y.cast;
}

// An operand's two multiplications sum over its columns and its rows, in this
// order. The CPU reads bytes as they lie for both.
CastLayout LayoutFor(const Stream& stream, bool over_columns, bool over_rows) {
  if (stream.device().kind == DeviceKind::kCpu || !over_rows) {
    return CastLayout::kRowMajor;
  }
  return over_columns ? CastLayout::kBoth : CastLayout::kTransposed;
}

// By plan: from the tensor itself, or from its history.
absl::Status CastOperand(const Stream& stream, absl::string_view name,
                         const LinearSource& source, const OperandPlan& plan,
                         CastLayout layout, Quantized* out) {
  CastOptions options;
  options.layout = layout;
  if (plan.mode == ScalingMode::kDynamic) {
    if (plan.cast.granularity == Granularity::kTensor) {
      options.known_amax = source.amax;
    }
    return Cast(stream, source.value, plan.cast, options, out);
  }
  if (source.history == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("linear: ", name, " has delayed scaling and no history"));
  }
  return source.history->Cast(stream, source.value, plan.cast, layout, out);
}

void Clear(Quantized* q) {
  if (q->scale.view().present()) *q = Quantized();
}

// Casts for the two multiplications; one cast serves both where it can.
absl::Status PrepareOperand(const Stream& stream, absl::string_view name,
                            const LinearSource& source,
                            const OperandPlan& first, const OperandPlan& second,
                            LinearOperand* out) {
  out->value = source.value;
  const bool same = SameForm(first, second);
  if (!first.is_float8) Clear(&out->first);
  if (!second.is_float8 || same) Clear(&out->second);
  if (first.is_float8 && second.is_float8 && !same &&
      first.mode == ScalingMode::kDynamic &&
      second.mode == ScalingMode::kDynamic) {
    return CastPair(
        stream, source.value,
        {first.cast, LayoutFor(stream, true, false), &out->first},
        {second.cast, LayoutFor(stream, false, true), &out->second});
  }
  if (first.is_float8) {
    OCTET_RETURN_IF_ERROR(CastOperand(stream, name, source, first,
                                      LayoutFor(stream, true, same),
                                      &out->first));
  }
  if (second.is_float8 && !same) {
    OCTET_RETURN_IF_ERROR(CastOperand(stream, name, source, second,
                                      LayoutFor(stream, false, true),
                                      &out->second));
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
  if (!made.scale.view().present()) {
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
                          const LinearSource& x, LinearOperand* out) {
  return PrepareOperand(stream, "x", x, recipe.forward.a, recipe.wgrad.b, out);
}

absl::Status PrepareWeight(const Stream& stream, const Recipe& recipe,
                           const LinearSource& w, LinearOperand* out) {
  return PrepareOperand(stream, "w", w, recipe.forward.b, recipe.dgrad.b, out);
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
                            const LinearSource& g, LinearOperand* casts,
                            const LinearGradients& gradients) {
  const bool wants_dx = gradients.dx.present();
  const bool wants_dw = gradients.dw.present();
  // A multiplication that is skipped needs no cast.
  OperandPlan dgrad_g = recipe.dgrad.a, wgrad_g = recipe.wgrad.a;
  dgrad_g.is_float8 = dgrad_g.is_float8 && wants_dx;
  wgrad_g.is_float8 = wgrad_g.is_float8 && wants_dw;
  OCTET_RETURN_IF_ERROR(
      PrepareOperand(stream, "g", g, dgrad_g, wgrad_g, casts));
  if (wants_dx) {
    OCTET_ASSIGN_OR_RETURN(
        const GemmOperand a,
        FormFor("g", *casts, recipe.dgrad.a, casts->first, Transpose::kNo));
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
        FormFor("g", *casts, recipe.wgrad.a, SecondOf(*casts, dgrad_g, wgrad_g),
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
