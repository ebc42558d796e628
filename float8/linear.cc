// SPDX-License-Identifier: Apache-2.0

#include "float8/linear.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
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

// f64, for gradient checks, only where nothing is cast.
absl::Status CheckValue(const Stream& stream, absl::string_view name,
                        const TensorView& value, bool is_cast) {
  OCTET_RETURN_IF_ERROR(CheckArgument(stream, "linear", name, value));
  const DType dtype = value.dtype();
  if (dtype == DType::kF32 || dtype == DType::kBf16 ||
      (dtype == DType::kF64 && !is_cast)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "linear: ", name, " is ", value.ToString(), ", must be f32 or bf16"));
}

void Clear(Quantized* q) {
  if (q->scale.view().present()) *q = Quantized();
}

// What the two multiplications want; one cast serves both where it can. Drops
// the forms that neither does.
OperandCasts CastsFor(const Stream& stream, const OperandPlan& first,
                      const OperandPlan& second, LinearOperand* out) {
  const bool same = SameForm(first, second);
  OperandCasts casts;
  if (first.is_float8) {
    casts.first = {first.cast, LayoutFor(stream, true, same), &out->first};
  } else {
    Clear(&out->first);
  }
  if (second.is_float8 && !same) {
    casts.second = {second.cast, LayoutFor(stream, false, true), &out->second};
  } else {
    Clear(&out->second);
  }
  return casts;
}

std::optional<OperandCasts> CastsOfMaker(const Stream& stream,
                                         const OperandPlan& first,
                                         const OperandPlan& second,
                                         LinearOperand* out) {
  for (const OperandPlan* plan : {&first, &second}) {
    if (plan->is_float8 && plan->mode != ScalingMode::kDynamic) return {};
  }
  if (!first.is_float8 && !second.is_float8) return {};
  OperandCasts casts = CastsFor(stream, first, second, out);
  if (casts.first.out == nullptr) std::swap(casts.first, casts.second);
  return casts;
}

absl::Status PrepareOperand(const Stream& stream, absl::string_view name,
                            const LinearSource& source,
                            const OperandPlan& first, const OperandPlan& second,
                            LinearOperand* out) {
  OCTET_RETURN_IF_ERROR(CheckValue(stream, name, source.value,
                                   first.is_float8 || second.is_float8));
  if (out == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "linear: the operand that receives the casts of ", name, " is null"));
  }
  out->value = source.value;
  const OperandCasts casts = CastsFor(stream, first, second, out);
  if (casts.first.out != nullptr && casts.second.out != nullptr &&
      first.mode == ScalingMode::kDynamic &&
      second.mode == ScalingMode::kDynamic) {
    return CastPair(stream, source.value, casts.first, casts.second);
  }
  if (casts.first.out != nullptr) {
    OCTET_RETURN_IF_ERROR(CastOperand(stream, name, source, first,
                                      casts.first.layout, casts.first.out));
  }
  if (casts.second.out != nullptr) {
    OCTET_RETURN_IF_ERROR(CastOperand(stream, name, source, second,
                                      casts.second.layout, casts.second.out));
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

// The part of an operand that is there.
const TensorView& ViewOf(const GemmOperand& operand) {
  return operand.data.present() ? operand.data : operand.transposed;
}

// Of one gradient of g [m, n]: the other operand of its multiplication, with
// `rows` rows, and the gradient itself, `gradient_rows` rows of as many
// columns.
struct GradientNames {
  const char* gradient;
  const char* other;
};
absl::Status CheckGradient(const Stream& stream, const GradientNames& names,
                           const GemmOperand& g, const GemmOperand& other,
                           int64_t rows, const TensorView& gradient,
                           int64_t gradient_rows) {
  const bool is_cast = IsFloat8(g.dtype());
  if (!is_cast) {
    OCTET_RETURN_IF_ERROR(CheckValue(stream, "g", ViewOf(g), false));
  }
  if (!IsFloat8(other.dtype())) {
    OCTET_RETURN_IF_ERROR(
        CheckValue(stream, names.other, ViewOf(other), is_cast));
  }
  OCTET_RETURN_IF_ERROR(CheckValue(stream, names.gradient, gradient, is_cast));
  const bool is_f64 = g.dtype() == DType::kF64;
  if (other.rows() == rows && gradient.rows() == gradient_rows &&
      gradient.cols() == other.cols() &&
      (other.dtype() == DType::kF64) == is_f64 &&
      (gradient.dtype() == DType::kF64) == is_f64) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "linear: g is ", Name(g.dtype()), " [", g.rows(), ", ", g.cols(), "], ",
      names.other, " is ", Name(other.dtype()), " [", other.rows(), ", ",
      other.cols(), "], ", names.gradient, " is ", gradient.ToString(), "; ",
      names.other, " must be [", rows, ", k], ", names.gradient, " [",
      gradient_rows, ", k], and all of them f64 or none"));
}

GemmOptions OptionsOf(const GemmPlan& plan, GradientMode mode) {
  GemmOptions options;
  options.beta = mode == GradientMode::kAccumulate ? 1.0f : 0.0f;
  options.accumulation =
      plan.fast_accumulation ? Accumulation::kFast : Accumulation::kPrecise;
  return options;
}

// dx and dw, all checked before either is written. `wgrad_made` is g's form for
// the latter.
absl::Status Multiply(const Stream& stream, const Recipe& recipe,
                      const LinearOperand& x, const LinearOperand& w,
                      const LinearOperand& g, const Quantized& wgrad_made,
                      const LinearGradients& gradients) {
  const bool wants_dx = gradients.dx.present();
  const bool wants_dw = gradients.dw.present();
  OCTET_RETURN_IF_ERROR(Validate(recipe));
  GemmOperand dgrad_g, dgrad_w, wgrad_g, wgrad_x;
  if (wants_dx) {
    OCTET_ASSIGN_OR_RETURN(
        dgrad_g, FormFor("g", g, recipe.dgrad.a, g.first, Transpose::kNo));
    OCTET_ASSIGN_OR_RETURN(
        dgrad_w,
        FormFor("w", w, recipe.dgrad.b,
                SecondOf(w, recipe.forward.b, recipe.dgrad.b), Transpose::kNo));
    OCTET_RETURN_IF_ERROR(CheckGradient(stream, {"dx", "w"}, dgrad_g, dgrad_w,
                                        dgrad_g.cols(), gradients.dx,
                                        dgrad_g.rows()));
  }
  if (wants_dw) {
    OCTET_ASSIGN_OR_RETURN(
        wgrad_g, FormFor("g", g, recipe.wgrad.a, wgrad_made, Transpose::kYes));
    OCTET_ASSIGN_OR_RETURN(
        wgrad_x,
        FormFor("x", x, recipe.wgrad.b,
                SecondOf(x, recipe.forward.a, recipe.wgrad.b), Transpose::kNo));
    OCTET_RETURN_IF_ERROR(CheckGradient(stream, {"dw", "x"}, wgrad_g, wgrad_x,
                                        wgrad_g.rows(), gradients.dw,
                                        wgrad_g.cols()));
  }
  if (wants_dx) {
    OCTET_RETURN_IF_ERROR(Gemm(stream, dgrad_g, dgrad_w,
                               OptionsOf(recipe.dgrad, gradients.dx_mode),
                               gradients.dx));
  }
  if (!wants_dw) return absl::OkStatus();
  return Gemm(stream, wgrad_g, wgrad_x,
              OptionsOf(recipe.wgrad, gradients.dw_mode), gradients.dw);
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
  // A multiplication that is skipped needs no cast.
  OperandPlan dgrad_g = recipe.dgrad.a, wgrad_g = recipe.wgrad.a;
  dgrad_g.is_float8 = dgrad_g.is_float8 && gradients.dx.present();
  wgrad_g.is_float8 = wgrad_g.is_float8 && gradients.dw.present();
  OCTET_RETURN_IF_ERROR(
      PrepareOperand(stream, "g", g, dgrad_g, wgrad_g, casts));
  return Multiply(stream, recipe, x, w, *casts,
                  SecondOf(*casts, dgrad_g, wgrad_g), gradients);
}

absl::Status LinearBackward(const Stream& stream, const Recipe& recipe,
                            const LinearOperand& x, const LinearOperand& w,
                            const LinearOperand& g,
                            const LinearGradients& gradients) {
  return Multiply(stream, recipe, x, w, g,
                  SecondOf(g, recipe.dgrad.a, recipe.wgrad.a), gradients);
}

std::optional<OperandCasts> InputCasts(const Stream& stream,
                                       const Recipe& recipe,
                                       LinearOperand* out) {
  return CastsOfMaker(stream, recipe.forward.a, recipe.wgrad.b, out);
}

std::optional<OperandCasts> GradientCasts(const Stream& stream,
                                          const Recipe& recipe,
                                          LinearOperand* out) {
  return CastsOfMaker(stream, recipe.dgrad.a, recipe.wgrad.a, out);
}

}  // namespace octet::float8
