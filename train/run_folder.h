// SPDX-License-Identifier: Apache-2.0

// What a run writes into job.dump_folder, and what becomes of an earlier run's:
//
//   .octet_run      which of these are a run's, locked while one writes
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
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "train/job_config.h"
#include "train/run_marker.h"

namespace octet::train {

struct RunFolder {
  std::string root;
  std::string job;
  std::string metrics;
  std::string checkpoint;
  std::string model;
  std::string sample;
  RunMarker marker;  // holds the lock on the folder
};

// InvalidArgument for a checkpoint.folder that another of the names above
// takes.
absl::Status CheckFolderNames(const JobConfig& config);

// Absolute paths; creates the root and locks it. FailedPrecondition, naming it,
// if another run holds the folder, or if a file in it has a name above and is
// not a run's; an empty folder is nobody's. Nothing is written then.
absl::StatusOr<RunFolder> OpenRunFolder(const JobConfig& config);

// Whether an earlier run left anything.
bool HasEarlierRun(const RunFolder& folder);

// The folder to which the earlier run went; empty if there was none.
// FailedPrecondition if one of the files `kept` would go with it.
absl::StatusOr<std::string> MoveEarlierRun(
    RunFolder* folder, absl::Span<const std::string> kept = {});

// The job as the earlier run saved it. NotFound if there is none.
absl::StatusOr<JobConfig> ReadJob(const RunFolder& folder);

// Marks the folder as a run's first. FailedPrecondition if job.toml is one of
// the files `kept` and holds another job.
absl::Status WriteJob(RunFolder* folder, const JobConfig& config,
                      absl::Span<const std::string> kept = {});

}  // namespace octet::train

#endif  // OCTET_TRAIN_RUN_FOLDER_H_
