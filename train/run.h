// SPDX-License-Identifier: Apache-2.0

// A whole training run: what //tools:train does once its arguments are read.
//
// A run that finds an unfinished one of the same job in job.dump_folder goes on
// from its last checkpoint, as torchtitan does; any other earlier run is moved
// aside (run_folder.h), never deleted. checkpoint.resume changes that. The same
// job gives the same weights, losses and text, interrupted or not, on the same
// number of CPU threads: the library that multiplies bf16 matrices sums in an
// order that depends on it.
#ifndef OCTET_TRAIN_RUN_H_
#define OCTET_TRAIN_RUN_H_

#include <atomic>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "train/job_config.h"

namespace octet::train {

struct RunHooks {
  std::ostream* out = nullptr;  // what people read
  bool is_terminal = false;     // of `out`: may show a bar
  // Set from outside (a signal): the run ends after the step at hand, with a
  // checkpoint and OK.
  const std::atomic<bool>* stop = nullptr;
  // Read for the job: FailedPrecondition rather than that one of them is moved
  // or overwritten.
  std::vector<std::string> config_files;
};

// What cannot be written to `out` is lost and no error.
//
// Errors: those of the arguments, of the data and of a job.dump_folder that
// another run holds or where others' files lie, before anything is written;
// OutOfRange for a step that is not finite (training.nonfinite), after a
// checkpoint of the state before it.
absl::Status RunJob(const JobConfig& config, const RunHooks& hooks);

}  // namespace octet::train

#endif  // OCTET_TRAIN_RUN_H_
