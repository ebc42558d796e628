// SPDX-License-Identifier: Apache-2.0

// The table of a job's keys.
#ifndef OCTET_TRAIN_JOB_KEYS_H_
#define OCTET_TRAIN_JOB_KEYS_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "train/job_config.h"

namespace octet::train {

// Where a key's value is; its alternative is the key's type.
using JobValue = std::variant<bool*, int64_t*, double*, std::string*,
                              std::vector<std::string>*>;

struct JobKey {
  std::string name;  // "training.steps"
  JobValue value;
  std::string help;
  // Numbers, both ends included.
  double min = 0;
  double max = 0;
  // Strings; empty: any.
  std::vector<std::string> choices;
  // A run that goes on must keep it.
  bool is_fixed = true;
};

// Values point into `config`.
std::vector<JobKey> JobKeys(JobConfig* config);

// The value as TOML: true, 3, 0.5, "text", ["a", "b"].
std::string ToToml(const JobValue& value);

// The word of `known` with the fewest edits to `word`; empty if none is near
// (edit_distance.h).
std::string NearestWord(const std::string& word,
                        const std::vector<std::string>& known);

}  // namespace octet::train

#endif  // OCTET_TRAIN_JOB_KEYS_H_
