// SPDX-License-Identifier: Apache-2.0

// What a run writes into job.dump_folder, and what becomes of an earlier run's:
//
//   job.toml        the whole job
//   metrics.jsonl   one object a step
//   checkpoint/     checkpoint.folder
//   model/          the final weights, as a Hugging Face folder
//   sample.txt      generated text
//
// A run that starts anew moves an earlier run's to previous-1/, previous-2/ and
// so on, and touches nothing else in the folder.
#ifndef OCTET_TRAIN_RUN_FOLDER_H_
#define OCTET_TRAIN_RUN_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "train/job_config.h"

namespace octet::train {

struct RunFolder {
  std::string root;
  std::string job;
  std::string metrics;
  std::string checkpoint;
  std::string model;
  std::string sample;
};

// Absolute paths; creates the root.
absl::StatusOr<RunFolder> OpenRunFolder(const JobConfig& config);

// Whether an earlier run left anything.
bool HasEarlierRun(const RunFolder& folder);

// The folder to which the earlier run went; empty if there was none.
absl::StatusOr<std::string> MoveEarlierRun(const RunFolder& folder);

// The job as the earlier run saved it. NotFound if there is none.
absl::StatusOr<JobConfig> ReadJob(const RunFolder& folder);
absl::Status WriteJob(const RunFolder& folder, const JobConfig& config);

}  // namespace octet::train

#endif  // OCTET_TRAIN_RUN_FOLDER_H_
