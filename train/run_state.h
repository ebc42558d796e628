// SPDX-License-Identifier: Apache-2.0

// A run's whole state, to and from a checkpoint: f32 master weights, both
// moments, where the trainer stands, the recipe's amax histories.
#ifndef OCTET_TRAIN_RUN_STATE_H_
#define OCTET_TRAIN_RUN_STATE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/stream.h"
#include "train/checkpoint.h"
#include "train/job_model.h"
#include "train/step.h"

namespace octet::train {

// Writes DIR/step-N and removes the oldest beyond `keep`.
absl::StatusOr<SavedCheckpoint> SaveRun(const Stream& stream,
                                        const std::string& dir, int64_t keep,
                                        const Trainer& trainer,
                                        JobModel* model);

// From one checkpoint's folder, every checksum verified.
absl::Status RestoreRun(const Stream& stream, const std::string& path,
                        Trainer* trainer, JobModel* model);

}  // namespace octet::train

#endif  // OCTET_TRAIN_RUN_STATE_H_
