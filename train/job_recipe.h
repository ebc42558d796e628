// SPDX-License-Identifier: Apache-2.0

// The float8 recipe and the types that a job names.
#ifndef OCTET_TRAIN_JOB_RECIPE_H_
#define OCTET_TRAIN_JOB_RECIPE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/dtype.h"
#include "float8/recipe.h"
#include "train/job_config.h"

namespace octet::train {

// The named recipe with float8.filter_fqns and the overrides applied, checked
// by float8::Validate.
absl::StatusOr<float8::Recipe> MakeRecipe(const JobConfig& config);

// Of "float32" or "bfloat16".
DType DTypeOf(absl::string_view word);

}  // namespace octet::train

#endif  // OCTET_TRAIN_JOB_RECIPE_H_
