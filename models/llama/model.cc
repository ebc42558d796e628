// SPDX-License-Identifier: Apache-2.0
#include "models/llama/model.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/layers/checks.h"
#include "models/layers/cross_entropy.h"
#include "models/layers/embedding.h"
#include "models/layers/rope.h"
#include "models/llama/gradients.h"
#include "models/llama/params.h"

namespace octet::models {
namespace {

// Logits of a chunk take at most 128 MiB in f32, on a GPU 1 GiB, but for a huge
// vocabulary.
int64_t LossChunk(DeviceKind device, int64_t asked, int64_t tokens,
                  int64_t vocab) {
  const int64_t elements =
      device == DeviceKind::kCpu ? int64_t{1} << 25 : int64_t{1} << 28;
  const int64_t chunk =
      asked > 0 ? asked : std::max<int64_t>(elements / vocab / 16 * 16, 16);
  return std::min(chunk, std::max<int64_t>(tokens, 1));
}

std::vector<Block> MakeBlocks(const LlamaConfig& config,
                              const LlamaOptions& options) {
  std::vector<Block> blocks;
  blocks.reserve(config.num_layers);
  for (int64_t layer = 0; layer < config.num_layers; ++layer) {
    blocks.emplace_back(options.recipe, config, layer);
    if (!options.keep.empty()) blocks[layer].set_keep(options.keep[layer]);
  }
  return blocks;
}

ActivationOptions ActivationsFor(const LlamaConfig& config,
                                 const LlamaOptions& options, DeviceKind device,
                                 const std::vector<Block>& blocks,
                                 int64_t batch, int64_t length) {
  ActivationOptions activations;
  activations.batch = batch;
  activations.length = length;
  activations.compute_dtype = options.compute_dtype;
  activations.loss_chunk =
      LossChunk(device, options.loss_chunk, batch * length, config.vocab_size);
  for (const Block& block : blocks) {
    activations.needs.push_back(block.needs());
    activations.wants_grad_x_amax |= block.wants_grad_x_amax();
  }
  return activations;
}

// A unit's weights, given back on every way out.
class Acquired {
 public:
  Acquired(fsdp::ParamStore* store, int64_t unit, bool vectors_only = false)
      : store_(store),
        unit_(unit),
        weights_(vectors_only ? store->AcquireVectors(unit)
                              : store->Acquire(unit)) {}
  ~Acquired() {
    if (weights_.ok()) store_->Release(unit_).IgnoreError();
  }
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;

  const absl::Status& status() const { return weights_.status(); }
  absl::Span<const TensorView> weights() const { return *weights_; }

 private:
  fsdp::ParamStore* store_;
  int64_t unit_;
  absl::StatusOr<absl::Span<const TensorView>> weights_;
};

}  // namespace

Llama::Llama(const Stream& stream, const LlamaConfig& config,
             const LlamaOptions& options, fsdp::ParamStore* store)
    : stream_(stream),
      config_(config),
      options_(options),
      store_(store),
      blocks_(MakeBlocks(config, options)),
      head_(options.recipe, config),
      activations_(options.memory) {}

ActivationLayout LayOutActivations(const LlamaConfig& config,
                                   const LlamaOptions& options,
                                   DeviceKind device, int64_t batch,
                                   int64_t length) {
  return Activations::Layout(
      config, ActivationsFor(config, options, device,
                             MakeBlocks(config, options), batch, length));
}

absl::StatusOr<std::unique_ptr<Llama>> Llama::Create(
    const Stream& stream, const LlamaConfig& config,
    const LlamaOptions& options, fsdp::ParamStore* store) {
  OCTET_RETURN_IF_ERROR(Validate(config));
  OCTET_RETURN_IF_ERROR(float8::Validate(options.recipe));
  OCTET_RETURN_IF_ERROR(CheckStore(config, *store));
  const DType dtype = options.compute_dtype;
  if (dtype != DType::kF32 && dtype != DType::kBf16 && dtype != DType::kF64) {
    return absl::InvalidArgumentError(
        absl::StrCat("llama: compute dtype is ", Name(dtype),
                     ", expected f32, bf16 or f64"));
  }
  if (dtype == DType::kF64 && float8::UsesFloat8(options.recipe)) {
    return absl::InvalidArgumentError(
        absl::StrCat("llama: recipe ", options.recipe.name,
                     " with f64, which is for high precision only"));
  }
  if (options.loss_chunk < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("llama: loss_chunk is ", options.loss_chunk));
  }
  const int64_t layers = options.keep.size();
  if (layers != 0 && layers != config.num_layers) {
    return absl::InvalidArgumentError(
        absl::StrCat("llama: keep is given for ", layers, " layers, there are ",
                     config.num_layers));
  }
  // Not make_unique: the constructor is private.
  std::unique_ptr<Llama> model(new Llama(stream, config, options, store));
  OCTET_RETURN_IF_ERROR(model->DescribeLayers().status());
  return model;
}

std::vector<Projection*> Llama::Projections() {
  std::vector<Projection*> all;
  for (Block& block : blocks_) {
    for (Projection* projection : block.projections()) {
      all.push_back(projection);
    }
  }
  all.push_back(&head_.projection());
  return all;
}

absl::StatusOr<std::string> Llama::DescribeLayers() {
  std::vector<float8::LayerShape> shapes;
  for (const Projection* projection : Projections()) {
    shapes.push_back(projection->shape());
  }
  return float8::DescribeLayers(options_.recipe, shapes);
}

absl::Status Llama::CheckIds(const char* what, const TensorView& ids,
                             const Shape& shape) const {
  if (shape.rank() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "llama: ", what, " is ", ids.ToString(), ", expected [batch, length]"));
  }
  OCTET_RETURN_IF_ERROR(
      internal::CheckTensor(stream_, {"llama", what, ids}, DType::kI32, shape));
  // On a GPU the kernels look.
  if (ids.device().kind != DeviceKind::kCpu) return absl::OkStatus();
  const bool is_target = std::string(what) == "targets";
  for (int64_t i = 0; i < ids.num_elements(); ++i) {
    const int32_t id = ids.as<int32_t>()[i];
    if (is_target && id == kIgnoreIndex) continue;
    if (id < 0 || id >= config_.vocab_size) {
      return absl::OutOfRangeError(absl::StrCat(
          "llama: ", what, "[", i / shape.dim(1), ", ", i % shape.dim(1),
          "] is ", id, ", the vocabulary has ", config_.vocab_size));
    }
  }
  return absl::OkStatus();
}

absl::Status Llama::Plan(const TensorView& tokens) {
  const int64_t batch = tokens.shape().dim(0);
  const int64_t length = tokens.shape().dim(1);
  if (length > config_.max_position_embeddings) {
    return absl::InvalidArgumentError(absl::StrCat(
        "llama: tokens are ", tokens.ToString(), ", the model's longest is ",
        config_.max_position_embeddings));
  }
  if (rope_table_.num_elements() < length * config_.head_dim) {
    RopeOptions rope;
    rope.head_dim = config_.head_dim;
    rope.theta = config_.rope_theta;
    rope.scaling = config_.rope_scaling;
    OCTET_ASSIGN_OR_RETURN(
        rope_table_, RopeTable(stream_, rope, length, options_.compute_dtype));
  }
  if (activations_.batch() == batch && activations_.length() == length) {
    return absl::OkStatus();
  }
  return activations_.Plan(
      stream_, config_,
      ActivationsFor(config_, options_, stream_.device().kind, blocks_, batch,
                     length));
}

BlockWeights Llama::WeightsOf(int64_t block,
                              absl::Span<const TensorView> weights) const {
  return {weights, store_->WeightAmaxes(block + 1), store_->version()};
}

BlockContext Llama::MakeContext() {
  return {
      stream_,         &config_, rope_table_.view(),    activations_.scratch(),
      &shared_inputs_, &casts_,  options_.deterministic};
}

absl::Status Llama::ForwardBlocks(const TensorView& tokens) {
  {
    const Acquired embedding(store_, 0);
    OCTET_RETURN_IF_ERROR(embedding.status());
    OCTET_RETURN_IF_ERROR(EmbeddingForward(
        stream_, tokens.Reshaped(Shape({tokens.num_elements()})),
        embedding.weights()[0], activations_.block(0).x));
  }
  const BlockContext context = MakeContext();
  TensorView residual;
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    const Acquired unit(store_, i + 1,
                        blocks_[i].IsPrepared(store_->version()));
    OCTET_RETURN_IF_ERROR(unit.status());
    BlockActivations& block = activations_.block(i);
    OCTET_RETURN_IF_ERROR(blocks_[i].Forward(
        context, WeightsOf(i, unit.weights()), residual, &block));
    residual = block.mlp_x;
  }
  return absl::OkStatus();
}

absl::Status Llama::BackwardBlocks(const TensorView& tokens) {
  const BlockContext context = MakeContext();
  for (int64_t i = config_.num_layers - 1; i >= 0; --i) {
    const Acquired unit(store_, i + 1,
                        blocks_[i].IsPrepared(store_->version()));
    OCTET_RETURN_IF_ERROR(unit.status());
    OCTET_ASSIGN_OR_RETURN(const auto gradients, store_->Gradients(i + 1));
    OCTET_RETURN_IF_ERROR(
        blocks_[i].Backward(context, WeightsOf(i, unit.weights()), gradients,
                            &activations_.block(i)));
    OCTET_RETURN_IF_ERROR(store_->Reduce(i + 1));
  }
  OCTET_ASSIGN_OR_RETURN(const auto gradients, store_->Gradients(0));
  OCTET_ASSIGN_OR_RETURN(const TensorView embedding,
                         ZeroIfFresh(stream_, gradients, 0));
  OCTET_RETURN_IF_ERROR(EmbeddingBackward(
      stream_, tokens.Reshaped(Shape({tokens.num_elements()})),
      context.scratch.grad_x, embedding));
  return store_->Reduce(0);
}

absl::Status Llama::WithHead(
    const std::function<absl::Status(const HeadContext&)>& f) {
  const Acquired unit(store_, config_.num_layers + 1);
  OCTET_RETURN_IF_ERROR(unit.status());
  std::optional<Acquired> embedding;
  HeadContext context = {stream_, &config_, {}, {}, store_->version(), &casts_};
  context.weights.norm = unit.weights()[kFinalNorm];
  if (config_.tie_word_embeddings) {
    embedding.emplace(store_, 0);
    OCTET_RETURN_IF_ERROR(embedding->status());
    context.weights.lm_head = embedding->weights()[0];
    const auto amaxes = store_->WeightAmaxes(0);
    if (!amaxes.empty()) context.lm_head_amax = amaxes[0];
  } else {
    context.weights.lm_head = unit.weights()[kLmHead];
    const auto amaxes = store_->WeightAmaxes(config_.num_layers + 1);
    if (!amaxes.empty()) context.lm_head_amax = amaxes[kLmHead];
  }
  OCTET_RETURN_IF_ERROR(
      head_.Normalise(context, activations_.block(config_.num_layers - 1).mlp_x,
                      activations_.scratch(), &activations_.head()));
  return f(context);
}

absl::StatusOr<HeadGradients> Llama::TakeHeadGradients() {
  OCTET_ASSIGN_OR_RETURN(const auto head,
                         store_->Gradients(config_.num_layers + 1));
  HeadGradients gradients;
  OCTET_ASSIGN_OR_RETURN(gradients.norm,
                         ZeroIfFresh(stream_, head, kFinalNorm));
  if (config_.tie_word_embeddings) {
    OCTET_ASSIGN_OR_RETURN(const auto embedding, store_->Gradients(0));
    gradients.lm_head = GradientOf(embedding, 0);
  } else {
    gradients.lm_head = GradientOf(head, kLmHead);
  }
  return gradients;
}

absl::StatusOr<double> Llama::SumLosses() {
  const TensorView& losses = activations_.head().losses;
  TensorView host = losses;
  Tensor copy;
  if (losses.device().kind != DeviceKind::kCpu) {
    OCTET_ASSIGN_OR_RETURN(copy, Tensor::Allocate(DType::kF64, losses.shape()));
    OCTET_RETURN_IF_ERROR(Copy(stream_, losses, copy));
    host = copy.view();
  }
  OCTET_RETURN_IF_ERROR(stream_.Synchronize());
  double sum = 0.0;
  for (int64_t i = 0; i < host.num_elements(); ++i) {
    sum += host.as<double>()[i];
  }
  return sum;
}

absl::StatusOr<double> Llama::ForwardBackward(const TensorView& tokens,
                                              const TensorView& targets,
                                              double grad_scale) {
  OCTET_RETURN_IF_ERROR(CheckIds("tokens", tokens, tokens.shape()));
  OCTET_RETURN_IF_ERROR(CheckIds("targets", targets, tokens.shape()));
  if (tokens.num_elements() == 0) return 0.0;
  OCTET_RETURN_IF_ERROR(Plan(tokens));
  OCTET_RETURN_IF_ERROR(ForwardBlocks(tokens));
  OCTET_RETURN_IF_ERROR(WithHead([&](const HeadContext& context) {
    OCTET_ASSIGN_OR_RETURN(const HeadGradients gradients, TakeHeadGradients());
    return head_.LossAndGradient(
        context, targets.Reshaped(Shape({targets.num_elements()})), grad_scale,
        gradients, activations_.scratch(), &activations_.head());
  }));
  OCTET_RETURN_IF_ERROR(store_->Reduce(config_.num_layers + 1));
  OCTET_RETURN_IF_ERROR(BackwardBlocks(tokens));
  return SumLosses();
}

absl::StatusOr<double> Llama::Loss(const TensorView& tokens,
                                   const TensorView& targets) {
  OCTET_RETURN_IF_ERROR(CheckIds("tokens", tokens, tokens.shape()));
  OCTET_RETURN_IF_ERROR(CheckIds("targets", targets, tokens.shape()));
  if (tokens.num_elements() == 0) return 0.0;
  OCTET_RETURN_IF_ERROR(Plan(tokens));
  OCTET_RETURN_IF_ERROR(ForwardBlocks(tokens));
  OCTET_RETURN_IF_ERROR(WithHead([&](const HeadContext& context) {
    return head_.Loss(context,
                      targets.Reshaped(Shape({targets.num_elements()})),
                      &activations_.head());
  }));
  return SumLosses();
}

absl::Status Llama::Logits(const TensorView& tokens, const TensorView& out) {
  OCTET_RETURN_IF_ERROR(CheckIds("tokens", tokens, tokens.shape()));
  const Shape& shape = tokens.shape();
  OCTET_RETURN_IF_ERROR(internal::CheckTensor(
      stream_, {"llama", "logits", out},
      internal::StatisticOf(options_.compute_dtype),
      Shape({shape.dim(0), shape.dim(1), config_.vocab_size})));
  if (tokens.num_elements() == 0) return absl::OkStatus();
  OCTET_RETURN_IF_ERROR(Plan(tokens));
  OCTET_RETURN_IF_ERROR(ForwardBlocks(tokens));
  return WithHead([&](const HeadContext& context) {
    return head_.Logits(
        context, &activations_.head(),
        out.Reshaped(Shape({tokens.num_elements(), config_.vocab_size})));
  });
}

}  // namespace octet::models
