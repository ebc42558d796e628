// SPDX-License-Identifier: Apache-2.0

// Whether a run goes on from a checkpoint (checkpoint.resume).
#ifndef OCTET_TRAIN_RUN_RESUME_H_
#define OCTET_TRAIN_RUN_RESUME_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "train/checkpoint.h"
#include "train/job_config.h"
#include "train/run_folder.h"

namespace octet::train {

struct ResumeChoice {
  std::optional<FoundCheckpoint> from;
  // Else why the run starts anew.
  std::string reason;
};

// FailedPrecondition if resume is "always" and there is no checkpoint of this
// job. DataLoss, naming the damaged file and what to do, if the newest
// checkpoint is damaged and an older one is not: going back is for the user to
// choose.
absl::StatusOr<ResumeChoice> ChooseResume(const JobConfig& config,
                                          const RunFolder& folder);

// What to do about `error`, which loading `found` gave, is added to it.
absl::Status ExplainDamage(const absl::Status& error,
                           const FoundCheckpoint& found);

}  // namespace octet::train

#endif  // OCTET_TRAIN_RUN_RESUME_H_
