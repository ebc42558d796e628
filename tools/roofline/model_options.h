// SPDX-License-Identifier: Apache-2.0

// Flags that say which model is trained, and how.
#ifndef OCTET_TOOLS_ROOFLINE_MODEL_OPTIONS_H_
#define OCTET_TOOLS_ROOFLINE_MODEL_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "roofline/bound.h"
#include "roofline/hardware.h"
#include "roofline/model/job.h"
#include "tools/command_line.h"
#include "tools/roofline/gemm_times.h"

namespace octet::tools {

// With --hardware and its companions (options.h).
const std::vector<FlagSpec>& JobFlags();
std::string JobUsage();

struct JobSetup {
  std::string model;  // as named
  roofline::ModelShape shape;
  // recipe and ranks are those of one row: the first of the lists.
  roofline::ModelJob job;
  // As asked for; job.shard_ranks is at most job.ranks.
  int64_t shard_ranks = 0;
  std::vector<std::string> recipes;
  std::vector<int64_t> ranks;
  roofline::Hardware hardware;
  roofline::BoundOptions bound;
  std::shared_ptr<GemmLookups> lookups;  // null: times by the roofline

  // The job on that many GPUs: one copy takes shard_ranks of them, or all if
  // there are fewer.
  roofline::ModelJob JobOn(int64_t ranks) const;
};

// Each of the ranks that shard_ranks does not exceed must be its multiple, and
// there must be one. `recipes` is the value of --recipe when none is given.
absl::StatusOr<JobSetup> JobSetupOf(const CommandLine& line,
                                    const std::string& recipes);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_MODEL_OPTIONS_H_
