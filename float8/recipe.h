// SPDX-License-Identifier: Apache-2.0

// Which operand of which matrix multiplication is cast how. Plain data.
//
// A linear layer y = x w^T makes three multiplications; each names the plan of
// its two operands in their own orientation, x [m, k], w [n, k], g [m, n]:
//
//   forward  y  [m, n] = x w^T     contracts k
//   dgrad    dx [m, k] = g w       contracts n
//   wgrad    dw [n, k] = g^T x     contracts m
#ifndef OCTET_FLOAT8_RECIPE_H_
#define OCTET_FLOAT8_RECIPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "float8/scaling.h"

namespace octet::float8 {

enum class ScalingMode : uint8_t {
  kDynamic,  // from the tensor itself
  kDelayed,  // from the amax history; tensor granularity only
};

struct OperandPlan {
  bool is_float8 = false;  // false: the operand keeps its own precision
  CastPlan cast;
  ScalingMode mode = ScalingMode::kDynamic;
};

struct GemmPlan {
  OperandPlan a;  // x, g, g
  OperandPlan b;  // w, w, x
  bool fast_accumulation = false;
};

enum class AmaxReduction : uint8_t { kMax, kMostRecent };

struct DelayedScalingOptions {
  int64_t history_length = 16;
  AmaxReduction reduction = AmaxReduction::kMax;
  int margin = 0;  // the scale is divided by 2^margin
};

struct Recipe {
  std::string name = "bf16";
  GemmPlan forward;
  GemmPlan dgrad;
  GemmPlan wgrad;
  DelayedScalingOptions delayed;
  // A layer stays in high precision if its name contains one of these.
  std::vector<std::string> filter = {"lm_head"};
  // Also keeps layers so small that casting costs more than it saves on a GPU
  // (torchao's thresholds for n and k: its tensorwise ones for tensor scales,
  // its rowwise ones for all others).
  bool skip_small_layers = false;
};

// "bf16", "tensorwise", "tensorwise_delayed", "rowwise", "rowwise_gw_hp",
// "blockwise", "mxfp8". InvalidArgument lists them with the nearest one first.
absl::StatusOr<Recipe> NamedRecipe(absl::string_view name);
std::vector<std::string> RecipeNames();

// Refuses, with the reason, what no device could run: one operand of a
// multiplication in float8 and the other not, e5m2 times e5m2, delayed scaling
// of a granularity other than tensor, a scale for each single element along the
// contraction, fast accumulation with block scales, a format that is not
// float8, a history of length 0.
absl::Status Validate(const Recipe& recipe);

// Refuses a history of less than 1 or more than 65536 steps, and a margin
// outside -32 to 32.
absl::Status Validate(const DelayedScalingOptions& options);

// Whether any multiplication of the recipe is in float8.
bool UsesFloat8(const Recipe& recipe);

// Whether a layer of weight [n, k] runs in float8, and why. Sizes need not be
// multiples of anything, blocks and 16 included: what a device cannot take as
// it is, it pads inside with zeros, which change no sum.
struct LayerDecision {
  bool is_float8 = false;
  std::string reason;
};
LayerDecision Decide(const Recipe& recipe, absl::string_view layer, int64_t n,
                     int64_t k);

struct LayerShape {
  std::string name;
  int64_t n;
  int64_t k;
};
// The table printed at start-up: each layer, float8 or not, and the reason;
// blocks that are alike share a row ("model.layers.{0-31}.mlp.up_proj"). A
// filter word that matches no layer is an InvalidArgument error (not where the
// recipe has no float8 to keep a layer from).
absl::StatusOr<std::string> DescribeLayers(const Recipe& recipe,
                                           absl::Span<const LayerShape> layers);

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_RECIPE_H_
