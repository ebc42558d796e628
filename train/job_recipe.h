// SPDX-License-Identifier: Apache-2.0

// The float8 recipe that a job describes.
#ifndef OCTET_TRAIN_JOB_RECIPE_H_
#define OCTET_TRAIN_JOB_RECIPE_H_

#include "absl/status/statusor.h"
#include "float8/recipe.h"
#include "train/job_config.h"

namespace octet::train {

// The named recipe with float8.filter_fqns and the overrides applied, checked
// by float8::Validate.
absl::StatusOr<float8::Recipe> MakeRecipe(const JobConfig& config);

}  // namespace octet::train

#endif  // OCTET_TRAIN_JOB_RECIPE_H_
