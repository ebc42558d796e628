// SPDX-License-Identifier: Apache-2.0

// The model and the trainer that a job describes.
#ifndef OCTET_TRAIN_JOB_MODEL_H_
#define OCTET_TRAIN_JOB_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/stream.h"
#include "fsdp/whole_param_store.h"
#include "io/json.h"
#include "models/llama/config.h"
#include "models/llama/model.h"
#include "train/job_config.h"
#include "train/plan/memory_plan.h"
#include "train/step.h"

namespace octet::train {

// Of model.flavor, or of checkpoint.initial_load_path where that is set.
absl::StatusOr<models::LlamaConfig> MakeModelConfig(const JobConfig& config);

// InvalidArgument for a model that is not known or a word of
// float8.filter_fqns that no layer's name contains; allocates nothing.
absl::Status CheckModel(const JobConfig& config);

// Optimizer, schedule, batch and clipping; the config has been validated.
TrainerOptions MakeTrainerOptions(const JobConfig& config);

class JobModel {
 public:
  // Weights from the seed, or from checkpoint.initial_load_path.
  static absl::StatusOr<std::unique_ptr<JobModel>> Create(
      const Stream& stream, const JobConfig& config, const MemoryPlan& plan);

  const models::LlamaConfig& config() const { return config_; }
  fsdp::ParamStore* store() { return store_.get(); }
  StepModel step_model();

  // "llama3 tiny: 1672896 parameters, 4 layers of width 192, ..."
  std::string Describe() const;
  // Which layers are float8 and why.
  absl::StatusOr<std::string> DescribeLayers() const;

  // The logits after the last of the tokens, [vocab].
  absl::StatusOr<std::vector<float>> NextLogits(
      absl::Span<const int32_t> tokens);

  // Amax histories, by layer; empty for dynamic scaling.
  absl::StatusOr<io::Json> SaveScaling() const;
  // Without any, as in a checkpoint of another recipe, the next step takes
  // amaxes anew.
  absl::Status RestoreScaling(const io::Json& json);

  // A Hugging Face folder of bf16 weights.
  absl::Status SaveHuggingFace(const std::string& folder) const;

 private:
  JobModel(const Stream& stream, const models::LlamaConfig& config,
           std::string name)
      : stream_(stream), config_(config), name_(std::move(name)) {}

  Stream stream_;
  models::LlamaConfig config_;
  std::string name_;
  Tensor memory_;  // of activations and gradients, where these share it
  std::unique_ptr<fsdp::WholeParamStore> store_;
  std::unique_ptr<models::Llama> llama_;
};

}  // namespace octet::train

#endif  // OCTET_TRAIN_JOB_MODEL_H_
