// SPDX-License-Identifier: Apache-2.0

#include "train/job_model.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "models/llama/gradient_overlay.h"
#include "models/llama/hf.h"
#include "models/llama/params.h"
#include "train/job_recipe.h"

namespace octet::train {

absl::StatusOr<models::LlamaConfig> MakeModelConfig(const JobConfig& config) {
  const std::string& folder = config.checkpoint.initial_load_path;
  if (!folder.empty()) return models::ReadHfConfig(folder);
  auto preset = models::LlamaPresetConfig(config.model.flavor);
  if (!preset.ok()) {
    return absl::Status(
        preset.status().code(),
        absl::StrCat("model.flavor: ", preset.status().message()));
  }
  if (config.model.num_layers > 0) {
    preset->num_layers = config.model.num_layers;
  }
  return preset;
}

absl::Status CheckModel(const JobConfig& config) {
  OCTET_ASSIGN_OR_RETURN(const models::LlamaConfig model,
                         MakeModelConfig(config));
  OCTET_ASSIGN_OR_RETURN(const float8::Recipe recipe, MakeRecipe(config));
  std::vector<float8::LayerShape> layers;
  for (const fsdp::UnitSpec& unit : models::UnitSpecs(model)) {
    for (const fsdp::ParamSpec& param : unit.params) {
      if (param.shape.rank() != 2) continue;
      absl::string_view name = param.name;
      absl::ConsumeSuffix(&name, ".weight");
      if (absl::EndsWith(name, "embed_tokens")) continue;
      layers.push_back(
          {std::string(name), param.shape.dim(0), param.shape.dim(1)});
    }
  }
  if (model.tie_word_embeddings) {
    layers.push_back({"lm_head", model.vocab_size, model.hidden_size});
  }
  const absl::Status status = float8::DescribeLayers(recipe, layers).status();
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("float8.filter_fqns: ", status.message()));
}

TrainerOptions MakeTrainerOptions(const JobConfig& config) {
  TrainerOptions options;
  options.local_batch_size = config.training.local_batch_size;
  options.micro_batches = MicroBatches(config);
  options.seq_len = config.training.seq_len;
  options.lr = config.optimizer.lr;
  options.max_norm = config.training.max_norm;
  options.adamw = {config.optimizer.beta1,
                   config.optimizer.beta2,
                   config.optimizer.eps,
                   config.optimizer.weight_decay,
                   DTypeOf(config.optimizer.state_dtype),
                   static_cast<uint64_t>(config.training.seed)};
  const auto& s = config.lr_scheduler;
  options.schedule.steps = config.training.steps;
  options.schedule.warmup_steps = s.warmup_steps;
  if (s.decay_ratio >= 0) options.schedule.decay_ratio = s.decay_ratio;
  options.schedule.decay_type = s.decay_type;
  options.schedule.min_lr_factor = s.min_lr_factor;
  return options;
}

namespace {

fsdp::WholeParamStoreOptions StoreOptions(const JobConfig& config,
                                          const models::LlamaOptions& model,
                                          const MemoryPlan& plan,
                                          int64_t layers) {
  fsdp::WholeParamStoreOptions options;
  options.compute_dtype = model.compute_dtype;
  options.master_dtype = DTypeOf(config.training.dtype);
  options.gradient_dtype = DTypeOf(config.training.gradient_dtype);
  for (int64_t i = 1; plan.transient_weights && i <= layers; ++i) {
    options.transient_units.push_back(i);  // the blocks
  }
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobModel>> JobModel::Create(
    const Stream& stream, const JobConfig& config, const MemoryPlan& plan) {
  OCTET_ASSIGN_OR_RETURN(const models::LlamaConfig model_config,
                         MakeModelConfig(config));
  const std::string& folder = config.checkpoint.initial_load_path;
  const std::string name = absl::StrCat(
      config.model.name, " ", folder.empty() ? config.model.flavor : folder);
  auto model = absl::WrapUnique(new JobModel(stream, model_config, name));
  OCTET_ASSIGN_OR_RETURN(models::LlamaOptions options,
                         MakeLlamaOptions(config, plan));
  fsdp::WholeParamStoreOptions store =
      StoreOptions(config, options, plan, model_config.num_layers);
  if (plan.overlays_gradients) {
    const models::GradientOverlay overlay =
        OverlayOf(config, model_config, options, stream.device().kind);
    OCTET_ASSIGN_OR_RETURN(
        model->memory_,
        Tensor::Allocate(DType::kU8, Shape({overlay.bytes}), stream.device()));
    options.memory = model->memory_;
    store.gradient_memory = models::GradientViews(
        model_config, overlay, store.gradient_dtype, model->memory_);
  }
  OCTET_ASSIGN_OR_RETURN(model->store_,
                         fsdp::WholeParamStore::Create(
                             stream, models::UnitSpecs(model_config), store));
  OCTET_ASSIGN_OR_RETURN(model->llama_,
                         models::Llama::Create(stream, model_config, options,
                                               model->store_.get()));
  if (folder.empty()) {
    OCTET_RETURN_IF_ERROR(models::InitParams(
        stream, model_config, config.training.seed, model->store_.get()));
  } else {
    OCTET_RETURN_IF_ERROR(models::LoadHfWeights(stream, folder, model_config,
                                                model->store_.get()));
  }
  return model;
}

StepModel JobModel::step_model() {
  models::Llama* llama = llama_.get();
  StepModel model;
  model.forward_backward = [llama](const TensorView& tokens,
                                   const TensorView& targets, double scale) {
    return llama->ForwardBackward(tokens, targets, scale);
  };
  model.loss = [llama](const TensorView& tokens, const TensorView& targets) {
    return llama->Loss(tokens, targets);
  };
  model.advance_scaling = [llama] { return llama->AdvanceScaling(); };
  model.discard_scaling = [llama] { return llama->DiscardScaling(); };
  return model;
}

std::string JobModel::Describe() const {
  return absl::StrCat(name_, ": ", models::NumParameters(config_),
                      " parameters, ", config_.num_layers, " layers of width ",
                      config_.hidden_size, ", ", config_.num_heads, " heads, ",
                      config_.num_kv_heads, " for keys and values, vocabulary ",
                      config_.vocab_size);
}

absl::StatusOr<std::string> JobModel::DescribeLayers() const {
  return llama_->DescribeLayers();
}

absl::StatusOr<std::vector<float>> JobModel::NextLogits(
    absl::Span<const int32_t> tokens) {
  const int64_t length = tokens.size();
  const int64_t vocab = config_.vocab_size;
  OCTET_ASSIGN_OR_RETURN(const Tensor host,
                         Tensor::Allocate(DType::kI32, Shape({1, length})));
  std::copy(tokens.begin(), tokens.end(), host.as<int32_t>());
  OCTET_ASSIGN_OR_RETURN(
      const Tensor ids,
      Tensor::Allocate(DType::kI32, Shape({1, length}), stream_.device()));
  OCTET_RETURN_IF_ERROR(Copy(stream_, host, ids));
  OCTET_ASSIGN_OR_RETURN(
      const Tensor logits,
      Tensor::Allocate(DType::kF32, Shape({1, length, vocab}),
                       stream_.device()));
  OCTET_RETURN_IF_ERROR(llama_->Logits(ids, logits));
  std::vector<float> last(vocab);
  OCTET_RETURN_IF_ERROR(Copy(stream_, logits.view().RowSlice(length - 1, 1),
                             TensorView::Of(absl::MakeSpan(last), DType::kF32)
                                 .Reshaped(Shape({1, vocab}))));
  OCTET_RETURN_IF_ERROR(stream_.Synchronize());
  return last;
}

absl::StatusOr<io::Json> JobModel::SaveScaling() const {
  OCTET_ASSIGN_OR_RETURN(const models::ScalingState state,
                         llama_->SaveScaling());
  return io::Json(state);
}

absl::Status JobModel::RestoreScaling(const io::Json& json) {
  models::ScalingState state;
  for (const auto& [name, history] : json.items()) {
    std::vector<float>& values = state[name];
    for (const io::Json& value : history) {
      if (!value.is_number()) {
        return absl::DataLossError(absl::StrCat("scaling history of ", name,
                                                " is no list of numbers"));
      }
      values.push_back(value.get<float>());
    }
  }
  return llama_->RestoreScaling(state);
}

absl::Status JobModel::SaveHuggingFace(const std::string& folder) const {
  OCTET_RETURN_IF_ERROR(stream_.Synchronize());
  return models::SaveHf(stream_, folder, config_, *store_);
}

}  // namespace octet::train
