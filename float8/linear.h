// SPDX-License-Identifier: Apache-2.0

// The float8 linear layer: y = x w^T + bias, forward and backward.
//
//   x [m, k], w [n, k], y and g [m, n], dx [m, k]: f32 or bf16
//   dw [n, k]: f32 or bf16, overwritten or accumulated into
//
// (f64 where nothing is cast, for gradient checks.) Other dtypes, shapes that
// do not fit, and views without memory are InvalidArgument.
//
// Knows recipe, cast and gemm, which do not know each other. Each operand is
// read once for both multiplications that want it, where they and the device
// allow: weights once per optimizer step, an input once for all layers that
// read it. What backward needs is kept as the recipe's wgrad plan wants it: in
// float8 unless that multiplication is in high precision.
//
// Operands own their memory and are filled again in place, so calls after the
// first neither allocate nor wait for the device, and may be captured in a
// graph (base/graph.h).
#ifndef OCTET_FLOAT8_LINEAR_H_
#define OCTET_FLOAT8_LINEAR_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/cast.h"
#include "float8/delayed_scaling.h"
#include "float8/recipe.h"
#include "float8/scaling.h"

namespace octet::float8 {

// One operand in the forms its two multiplications want. `second` is empty when
// both want the same scales, or when it is not float8 there. On a GPU the first
// form's bytes are as they lie and the second's transposed, which is how sums
// run along contiguous memory; one Quantized may hold both.
struct LinearOperand {
  TensorView value;  // the operand itself; must outlive this
  Quantized first;   // forward's form (x, w), or dgrad's (g)
  Quantized second;  // wgrad's form (x, g), or dgrad's (w)
};

// Histories of one layer under delayed scaling; unused by other recipes.
struct LinearState {
  DelayedScale input;
  DelayedScale weight;
  DelayedScale grad_output;
};

// What an operand is cast from.
struct LinearSource {
  TensorView value;
  // f32 [1, 1]: the amax of all of it, where whoever made it knows that; else
  // absent. For dynamic scaling of a whole tensor, which then reads it once.
  TensorView amax = {};
  DelayedScale* history = nullptr;  // for delayed scaling
};

// Casts x for forward and wgrad. The result serves every layer of this recipe
// that reads x, and is what backward needs of it: where wgrad is in float8, the
// value is not read again.
absl::Status PrepareInput(const Stream& stream, const Recipe& recipe,
                          const LinearSource& x, LinearOperand* out);

// The casts of an operand by scales that follow from it alone, for whoever
// makes it to make them on the way; `second` has no output where one is all.
struct OperandCasts {
  CastTarget first;
  CastTarget second;
};

// What PrepareInput would cast x to, into `out`: with those casts made, it has
// nothing left to do. None where nothing is cast or a scale has a history.
std::optional<OperandCasts> InputCasts(const Stream& stream,
                                       const Recipe& recipe,
                                       LinearOperand* out);

// Casts w for forward and dgrad: again whenever the weights change, not for
// each microbatch.
absl::Status PrepareWeight(const Stream& stream, const Recipe& recipe,
                           const LinearSource& w, LinearOperand* out);

// y = x w^T (+ bias [n], absent for none). Overwrites y.
absl::Status LinearForward(const Stream& stream, const Recipe& recipe,
                           const LinearOperand& x, const LinearOperand& w,
                           const TensorView& bias, const TensorView& y);

enum class GradientMode : uint8_t { kOverwrite, kAccumulate };

// dx = g w, dw = g^T x; an absent dx or dw is skipped. `dx_mode` lets layers
// that share an input add their parts.
struct LinearGradients {
  TensorView dx;
  GradientMode dx_mode = GradientMode::kOverwrite;
  TensorView dw;
  GradientMode dw_mode = GradientMode::kAccumulate;
};
// `casts` receives the forms of g: memory that the caller keeps for the next
// call. Shapes, dtypes and recipe are checked first: an InvalidArgument or
// FailedPrecondition error leaves dx and dw as they were.
absl::Status LinearBackward(const Stream& stream, const Recipe& recipe,
                            const LinearOperand& x, const LinearOperand& w,
                            const LinearSource& g, LinearOperand* casts,
                            const LinearGradients& gradients);

// Like InputCasts, of g, where dx and dw are both wanted; and the rest of
// LinearBackward with those casts made.
std::optional<OperandCasts> GradientCasts(const Stream& stream,
                                          const Recipe& recipe,
                                          LinearOperand* out);
absl::Status LinearBackward(const Stream& stream, const Recipe& recipe,
                            const LinearOperand& x, const LinearOperand& w,
                            const LinearOperand& g,
                            const LinearGradients& gradients);

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_LINEAR_H_
