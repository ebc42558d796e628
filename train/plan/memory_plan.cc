// SPDX-License-Identifier: Apache-2.0

#include "train/plan/memory_plan.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/dtype.h"
#include "base/status_macros.h"
#include "models/llama/params.h"
#include "train/job_recipe.h"

namespace octet::train {
namespace {

double Width(const std::string& dtype) {
  return static_cast<double>(SizeOf(DTypeOf(dtype)));
}

// Of the blocks' linear layers, as the model has them.
struct LinearCount {
  double float8 = 0;  // elements of weights that are cast
  double in_blocks = 0;
  double matrices = 0;  // with embedding and head
  bool all_float8 = true;
};

LinearCount CountLinears(const float8::Recipe& recipe,
                         const models::LlamaConfig& model) {
  LinearCount count;
  for (const fsdp::UnitSpec& unit : models::UnitSpecs(model)) {
    for (const fsdp::ParamSpec& param : unit.params) {
      if (param.shape.rank() != 2) continue;
      count.matrices += param.shape.num_elements();
      if (!absl::StartsWith(unit.name, "model.layers.")) continue;
      count.in_blocks += param.shape.num_elements();
      const std::string name(absl::StripSuffix(param.name, ".weight"));
      const bool is_float8 =
          float8::UsesFloat8(recipe) &&
          float8::Decide(recipe, name, param.shape.dim(0), param.shape.dim(1))
              .is_float8;
      if (is_float8) count.float8 += param.shape.num_elements();
      count.all_float8 = count.all_float8 && is_float8;
    }
  }
  return count;
}

// Whether a block's weights are only cast, and their copies need not stay.
absl::StatusOr<bool> MayBeTransient(const JobConfig& job,
                                    const models::LlamaConfig& model) {
  OCTET_ASSIGN_OR_RETURN(const float8::Recipe recipe, MakeRecipe(job));
  return job.training.dtype == "float32" &&
         job.training.mixed_precision_param == "bfloat16" &&
         recipe.forward.b.is_float8 && recipe.dgrad.b.is_float8 &&
         CountLinears(recipe, model).all_float8;
}

double WeightBytes(const JobConfig& job, const models::LlamaConfig& model,
                   const LinearCount& linears, const MemoryPlan& plan) {
  const double master = Width(job.training.dtype);
  const double state = Width(job.optimizer.state_dtype);
  const double compute = Width(job.training.mixed_precision_param);
  const double vectors = models::NumParameters(model) - linears.matrices;
  double copies = compute == master ? 0 : linears.matrices;
  // One block's at a time then.
  if (plan.transient_weights)
    copies -= linears.float8 * (1 - 1.0 / model.num_layers);
  const double vector_copies = compute == 4 ? 0 : vectors;
  const double gradients =
      linears.matrices - (plan.overlays_gradients ? linears.in_blocks : 0);
  return linears.matrices * (master + 2 * state) +
         gradients * Width(job.training.gradient_dtype) +
         vectors * (8 + 2 * state) + (copies + vector_copies) * compute;
}

// The float8 forms of inputs and of one gradient of each width, on a GPU, which
// makes gate's and up's at one time where scales are local; a CPU's inputs have
// one form each.
double CastBytes(const float8::Recipe& recipe, const models::LlamaConfig& model,
                 bool on_gpu, double tokens, const MemoryPlan& plan) {
  if (!float8::UsesFloat8(recipe)) return 0;
  const double queries = model.num_heads * model.head_dim;
  const double attention = model.hidden_size + queries;
  const double mlp = model.hidden_size + model.intermediate_size;
  double rows = attention + mlp;  // what blocks share
  for (const models::Keep keep : plan.keep) {
    if (keep != models::Keep::kInput) rows += attention;
    if (keep == models::Keep::kAll) rows += mlp;
  }
  const bool blocks =
      float8::TileOf(recipe.forward.a.cast.granularity).cols == 128;
  if (on_gpu) {
    const double wide = (blocks ? 2.0 : 1.0) * model.intermediate_size;
    rows +=
        2 * (model.hidden_size + wide + model.num_kv_heads * model.head_dim);
  }
  return tokens * rows * (blocks ? 1 + 8.0 / 128 : 1);
}

absl::StatusOr<MemoryNeeds> NeedsOf(const JobConfig& job,
                                    const models::LlamaConfig& model,
                                    DeviceKind device, const MemoryPlan& plan) {
  OCTET_ASSIGN_OR_RETURN(const models::LlamaOptions options,
                         MakeLlamaOptions(job, plan));
  const auto& t = job.training;
  const bool on_gpu = device != DeviceKind::kCpu;
  const double tokens = static_cast<double>(t.local_batch_size) * t.seq_len;
  const LinearCount linears = CountLinears(options.recipe, model);
  MemoryNeeds needs;
  needs.weights = WeightBytes(job, model, linears, plan);
  const float8::Recipe& r = options.recipe;
  const double forms = on_gpu ? r.forward.b.is_float8 + r.dgrad.b.is_float8 : 1;
  needs.float8 = linears.float8 * forms;
  const int64_t activations =
      plan.overlays_gradients
          ? OverlayOf(job, model, options, device).bytes
          : models::LayOutActivations(model, options, device,
                                      t.local_batch_size, t.seq_len)
                .bytes;
  needs.activations = activations + CastBytes(r, model, on_gpu, tokens, plan);
  constexpr double kLibraries = 1.5 * (1 << 30);  // measured: about 1.2
  if (on_gpu) needs.other = kLibraries;
  return needs;
}

}  // namespace

int64_t MicroBatches(const JobConfig& job) {
  const auto& t = job.training;
  return t.global_batch_size < 0 ? 1 : t.global_batch_size / t.local_batch_size;
}

models::GradientOverlay OverlayOf(const JobConfig& job,
                                  const models::LlamaConfig& model,
                                  const models::LlamaOptions& options,
                                  DeviceKind device) {
  const auto& t = job.training;
  return models::OverlayGradients(
      model,
      models::LayOutActivations(model, options, device, t.local_batch_size,
                                t.seq_len),
      DTypeOf(job.training.gradient_dtype));
}

absl::StatusOr<models::LlamaOptions> MakeLlamaOptions(const JobConfig& job,
                                                      const MemoryPlan& plan) {
  models::LlamaOptions options;
  OCTET_ASSIGN_OR_RETURN(options.recipe, MakeRecipe(job));
  options.compute_dtype = DTypeOf(job.training.mixed_precision_param);
  options.loss_chunk = job.training.loss_chunk;
  options.keep = plan.keep;
  options.deterministic = job.training.deterministic;
  return options;
}

absl::StatusOr<MemoryPlan> PlanMemory(const JobConfig& job,
                                      const models::LlamaConfig& model,
                                      DeviceKind device,
                                      std::optional<double> available) {
  const std::string& mode = job.activation_checkpoint.mode;
  const int64_t layers = model.num_layers;
  const auto plan = [&](bool transient, int64_t inputs,
                        int64_t attentions) -> absl::StatusOr<MemoryPlan> {
    MemoryPlan plan;
    plan.transient_weights = transient;
    plan.overlays_gradients = MicroBatches(job) == 1;
    plan.keep.assign(layers, models::Keep::kAll);
    // The first layers: theirs are needed last.
    std::fill_n(plan.keep.begin(), inputs + attentions,
                models::Keep::kAttention);
    std::fill_n(plan.keep.begin(), inputs, models::Keep::kInput);
    OCTET_ASSIGN_OR_RETURN(plan.needs, NeedsOf(job, model, device, plan));
    return plan;
  };
  if (mode == "none") return plan(false, 0, 0);
  if (mode == "selective") return plan(false, 0, layers);
  if (mode == "full") return plan(false, layers, 0);
  OCTET_ASSIGN_OR_RETURN(MemoryPlan best, plan(false, 0, 0));
  if (!available || best.needs.total() <= *available) return best;
  OCTET_ASSIGN_OR_RETURN(const bool transient, MayBeTransient(job, model));
  // From the fastest to the smallest: the first that fits.
  for (int64_t recomputed = 0; recomputed <= 2 * layers; ++recomputed) {
    const int64_t inputs = std::max<int64_t>(0, recomputed - layers);
    const int64_t attentions = std::min(recomputed, layers) - inputs;
    OCTET_ASSIGN_OR_RETURN(best, plan(transient, inputs, attentions));
    if (best.needs.total() <= *available) break;
  }
  return best;
}

std::string DescribeKeep(const std::vector<models::Keep>& keep) {
  const int64_t layers = keep.size();
  const int64_t inputs =
      std::count(keep.begin(), keep.end(), models::Keep::kInput);
  const int64_t attentions =
      std::count(keep.begin(), keep.end(), models::Keep::kAttention);
  std::vector<std::string> parts;
  if (inputs > 0) {
    parts.push_back(
        absl::StrCat("recomputes ", inputs, " of ", layers, " layers"));
  }
  if (attentions > 0) {
    parts.push_back(absl::StrCat("recomputes the MLP of ", attentions, " of ",
                                 layers, " layers"));
  }
  return parts.empty() ? "keeps all activations" : absl::StrJoin(parts, ", ");
}

absl::StatusOr<std::string> CheckMemory(const MemoryPlan& plan,
                                        double available) {
  constexpr double kGib = 1 << 30;
  const MemoryNeeds& needs = plan.needs;
  std::string text =
      absl::StrFormat("%.2f GiB (weights and optimizer %.2f",
                      needs.total() / kGib, needs.weights / kGib);
  if (needs.float8 > 0) {
    absl::StrAppendFormat(&text, ", float8 weights %.2f", needs.float8 / kGib);
  }
  absl::StrAppendFormat(&text, ", activations %.2f", needs.activations / kGib);
  if (needs.other > 0) {
    absl::StrAppendFormat(&text, ", libraries %.2f", needs.other / kGib);
  }
  absl::StrAppendFormat(&text, "), %.1f GiB are free", available / kGib);
  if (needs.total() <= available) {
    return absl::StrCat(text, "; ", DescribeKeep(plan.keep));
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "memory needs ", text, "; ",
      needs.weights + needs.float8 > available
          ? "choose a smaller model.flavor, or bfloat16 for training.dtype, "
            "training.gradient_dtype and optimizer.state_dtype"
          : "choose a smaller training.local_batch_size (with "
            "training.global_batch_size the step stays the same), "
            "training.seq_len or model.flavor, or "
            "activation_checkpoint.mode=auto"));
}

}  // namespace octet::train
