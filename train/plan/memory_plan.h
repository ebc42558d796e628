// SPDX-License-Identifier: Apache-2.0

// How much memory a job needs, before anything is allocated.
#ifndef OCTET_TRAIN_PLAN_MEMORY_PLAN_H_
#define OCTET_TRAIN_PLAN_MEMORY_PLAN_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/llama/config.h"
#include "train/job_config.h"

namespace octet::train {

// Bytes. An estimate, rather low than high: a job that it refuses cannot run.
struct MemoryNeeds {
  // f32 master, gradient and two moments, and the copy in the compute dtype
  // where that is another: 18 or 16 bytes a parameter.
  double weights = 0;
  // Of one forward and backward pass: in each block, for each token, four
  // rows of the hidden size, q, k, v, the attention's output and two rows of
  // the intermediate size, all of the compute dtype; and a chunk of logits.
  double activations = 0;

  double total() const { return weights + activations; }
};

MemoryNeeds EstimateMemory(const JobConfig& job,
                           const models::LlamaConfig& model);

// MemAvailable of /proc/meminfo, or the limit of this process's control group
// where that is lower. `root` stands before the paths, for tests. NotFound
// where no such file can be read.
absl::StatusOr<double> AvailableMemory(absl::string_view root = "");

// "6.10 GiB (weights and optimizer 6.00, activations at least 0.10), machine
// has 23.4 GiB"; ResourceExhausted, with both numbers and what to change, if
// they do not fit.
absl::StatusOr<std::string> CheckMemory(const MemoryNeeds& needs,
                                        double available);

}  // namespace octet::train

#endif  // OCTET_TRAIN_PLAN_MEMORY_PLAN_H_
