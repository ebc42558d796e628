// SPDX-License-Identifier: Apache-2.0

// Changes one choice of a recipe by name, as a configuration file does.
//
//   {forward.x, forward.w, dgrad.g, dgrad.w, wgrad.g, wgrad.x}.
//     dtype        "e4m3", "e5m2", or "high_precision" (not cast)
//     granularity  "tensor", "row", "column", "1x128", ... (float8/scaling.h)
//     rounding     "exact", "pow2", "e8m0"
//     scaling      "dynamic", "delayed"
//   {forward, dgrad, wgrad}.fast_accumulation  "true", "false"
//   delayed.history_length, delayed.margin     whole numbers
//   delayed.reduction                          "max", "most_recent"
//   filter                                     words with commas between, or ""
//   skip_small_layers                          "true", "false"
//
// Says nothing about the mix that results: call Validate when all are applied.
#ifndef OCTET_FLOAT8_RECIPE_OVERRIDE_H_
#define OCTET_FLOAT8_RECIPE_OVERRIDE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "float8/recipe.h"

namespace octet::float8 {

// InvalidArgument names the key and the value, and lists what is known; the
// recipe is then unchanged.
absl::Status ApplyOverride(Recipe* recipe, absl::string_view key,
                           absl::string_view value);

// Every key.
std::vector<std::string> OverrideKeys();

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_RECIPE_OVERRIDE_H_
