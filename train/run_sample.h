// SPDX-License-Identifier: Apache-2.0

// Text that a trained model writes.
#ifndef OCTET_TRAIN_RUN_SAMPLE_H_
#define OCTET_TRAIN_RUN_SAMPLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/device.h"
#include "train/job_config.h"
#include "train/job_model.h"

namespace octet::train {

// The prompt and what follows it, by the keys of [sample]; bytes are tokens.
absl::StatusOr<std::string> WriteOn(const JobConfig& config,
                                    const Device& device, JobModel* model);

}  // namespace octet::train

#endif  // OCTET_TRAIN_RUN_SAMPLE_H_
