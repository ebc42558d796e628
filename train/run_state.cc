// SPDX-License-Identifier: Apache-2.0

#include "train/run_state.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/json.h"

namespace octet::train {
namespace {

constexpr char kMaster[] = "master";
constexpr char kAdamM[] = "adam_m";
constexpr char kAdamV[] = "adam_v";

// The same rows of each shard, of its master or of one of its moments.
std::vector<CheckpointTensor> Group(const Trainer& trainer, JobModel* model,
                                    TensorView AdamWTensors::*member) {
  const auto shards = model->store()->shards();
  const auto tensors = trainer.adamw().tensors();
  std::vector<CheckpointTensor> group;
  for (size_t i = 0; i < shards.size(); ++i) {
    group.emplace_back(shards[i].name, tensors[i].*member,
                       shards[i].global_shape, shards[i].first_row);
  }
  return group;
}

}  // namespace

absl::StatusOr<SavedCheckpoint> SaveRun(const Stream& stream,
                                        const std::string& dir, int64_t keep,
                                        const Trainer& trainer,
                                        JobModel* model) {
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  const TrainerState state = trainer.state();
  Checkpoint checkpoint;
  checkpoint.step = state.step;
  checkpoint.groups[kMaster] = Group(trainer, model, &AdamWTensors::master);
  checkpoint.groups[kAdamM] = Group(trainer, model, &AdamWTensors::m);
  checkpoint.groups[kAdamV] = Group(trainer, model, &AdamWTensors::v);
  OCTET_ASSIGN_OR_RETURN(const io::Json scaling, model->SaveScaling());
  checkpoint.state = {{"optimizer_step", state.optimizer_step},
                      {"sample_index", state.sample_index},
                      {"scaling", scaling}};
  CheckpointOptions options;
  options.keep = keep;
  return SaveCheckpoint(dir, checkpoint, options);
}

absl::Status RestoreRun(const Stream& stream, const std::string& path,
                        Trainer* trainer, JobModel* model) {
  OCTET_ASSIGN_OR_RETURN(const LoadedCheckpoint loaded, LoadCheckpoint(path));
  TrainerState state;
  state.step = loaded.step();
  OCTET_ASSIGN_OR_RETURN(state.optimizer_step,
                         io::GetInt(loaded.state(), "optimizer_step", path));
  OCTET_ASSIGN_OR_RETURN(state.sample_index,
                         io::GetInt(loaded.state(), "sample_index", path));
  const auto restore = [&](const char* group,
                           TensorView AdamWTensors::*member) {
    return loaded.Restore(stream, group, Group(*trainer, model, member));
  };
  OCTET_RETURN_IF_ERROR(restore(kMaster, &AdamWTensors::master));
  OCTET_RETURN_IF_ERROR(restore(kAdamM, &AdamWTensors::m));
  OCTET_RETURN_IF_ERROR(restore(kAdamV, &AdamWTensors::v));
  OCTET_RETURN_IF_ERROR(model->store()->WeightsChanged());
  OCTET_RETURN_IF_ERROR(model->RestoreScaling(
      loaded.state().value("scaling", io::Json::object())));
  trainer->set_state(state);
  return absl::OkStatus();
}

}  // namespace octet::train
