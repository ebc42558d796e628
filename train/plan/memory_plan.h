// SPDX-License-Identifier: Apache-2.0

// How much memory a job needs, before anything is allocated.
#ifndef OCTET_TRAIN_PLAN_MEMORY_PLAN_H_
#define OCTET_TRAIN_PLAN_MEMORY_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/device.h"
#include "models/llama/activations.h"
#include "models/llama/config.h"
#include "models/llama/gradient_overlay.h"
#include "models/llama/model.h"
#include "train/job_config.h"

namespace octet::train {

// Bytes.
struct MemoryNeeds {
  // Masters, gradients that have memory of their own, two moments, and copies
  // in the compute dtype where that is another.
  double weights = 0;
  // The float8 forms of weights, on a GPU one for each order of the bytes.
  double float8 = 0;
  // What forward keeps for backward, with the float8 forms of inputs, what one
  // layer after the other uses, and the gradients that lie there.
  double activations = 0;
  // On a GPU: the driver's and the libraries' own.
  double other = 0;

  double total() const { return weights + float8 + activations + other; }
};

// How a job is run so that it fits.
struct MemoryPlan {
  MemoryNeeds needs;
  // Copies of a block's weights exist only while they are cast
  // (fsdp::WholeParamStoreOptions::transient_units).
  bool transient_weights = false;
  // Gradients of blocks lie over activations (models/llama/gradient_overlay.h):
  // without accumulation.
  bool overlays_gradients = false;
  std::vector<models::Keep> keep;  // layer by layer
};

// By activation_checkpoint.mode; "auto" takes the fastest that needs no more
// than `available`, or the smallest. InvalidArgument for a recipe that cannot
// be.
absl::StatusOr<MemoryPlan> PlanMemory(const JobConfig& job,
                                      const models::LlamaConfig& model,
                                      DeviceKind device,
                                      std::optional<double> available);

// "keeps all activations", "recomputes the MLP of 20 of 32 layers"
std::string DescribeKeep(const std::vector<models::Keep>& keep);

// Forward passes of one step.
int64_t MicroBatches(const JobConfig& job);

// Where the plan's overlay puts gradients.
models::GradientOverlay OverlayOf(const JobConfig& job,
                                  const models::LlamaConfig& model,
                                  const models::LlamaOptions& options,
                                  DeviceKind device);

// What the model is made with: recipe, dtypes, the plan's choice.
absl::StatusOr<models::LlamaOptions> MakeLlamaOptions(const JobConfig& job,
                                                      const MemoryPlan& plan);

// "6.10 GiB (weights and optimizer 5.50, float8 weights 0.50, activations
// 0.10), has 23.4 GiB; keeps all activations"; ResourceExhausted, with both
// numbers and what to change, if they do not fit.
absl::StatusOr<std::string> CheckMemory(const MemoryPlan& plan,
                                        double available);

}  // namespace octet::train

#endif  // OCTET_TRAIN_PLAN_MEMORY_PLAN_H_
