// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/llama.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "fsdp/whole_param_store.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "models/llama/hf.h"
#include "models/llama/model.h"
#include "models/llama/params.h"
#include "train/adamw.h"
#include "train/clip.h"

namespace octet::tools {
namespace {

constexpr double kTensorTolerance = 1e-4;
constexpr double kLossTolerance = 1e-5;

// Everything that the comparison works on.
struct Session {
  Stream stream;
  std::unique_ptr<fsdp::WholeParamStore> store;
  std::unique_ptr<models::Llama> model;
  int64_t vocab_size = 0;
  TensorView tokens;  // [steps, batch, length + 1], on the host
  Tensor inputs;      // [batch, length] of one step, on the device
  Tensor targets;

  int64_t steps() const { return tokens.shape().dim(0); }
  double token_count() const {
    return static_cast<double>(inputs.num_elements());
  }
};

absl::StatusOr<Session> Open(const Stream& stream, const std::string& folder,
                             const io::SafetensorsFile& expected) {
  Session s;
  s.stream = stream;
  OCTET_ASSIGN_OR_RETURN(const models::LlamaConfig config,
                         models::ReadHfConfig(folder));
  s.vocab_size = config.vocab_size;
  OCTET_ASSIGN_OR_RETURN(
      s.store, fsdp::WholeParamStore::Create(
                   s.stream, models::UnitSpecs(config), {DType::kF32}));
  OCTET_RETURN_IF_ERROR(
      models::LoadHfWeights(s.stream, folder, config, s.store.get()));
  models::LlamaOptions options;
  options.compute_dtype = DType::kF32;
  OCTET_ASSIGN_OR_RETURN(
      s.model, models::Llama::Create(s.stream, config, options, s.store.get()));
  OCTET_ASSIGN_OR_RETURN(s.tokens, expected.Find("tokens"));
  const Shape& shape = s.tokens.shape();
  if (s.tokens.dtype() != DType::kI32 || shape.rank() != 3 ||
      shape.dim(2) < 2 || shape.num_elements() == 0) {
    return absl::DataLossError(
        absl::StrCat(expected.path(), ": tokens is ", s.tokens.ToString(),
                     ", expected i32 [steps, batch, length + 1]"));
  }
  const Shape batch({shape.dim(1), shape.dim(2) - 1});
  for (Tensor* ids : {&s.inputs, &s.targets}) {
    OCTET_ASSIGN_OR_RETURN(
        *ids, Tensor::Allocate(DType::kI32, batch, stream.device()));
  }
  return s;
}

absl::Status LoadBatch(int64_t step, Session* s) {
  const Shape& shape = s->tokens.shape();
  const int64_t length = shape.dim(2) - 1;
  const int32_t* from =
      s->tokens.as<int32_t>() + step * shape.dim(1) * shape.dim(2);
  for (const int64_t begin : {0, 1}) {
    std::vector<int32_t> ids;
    for (int64_t row = 0; row < shape.dim(1); ++row) {
      const int32_t* first = from + row * (length + 1) + begin;
      ids.insert(ids.end(), first, first + length);
    }
    const TensorView out = begin == 0 ? s->inputs : s->targets;
    OCTET_RETURN_IF_ERROR(Copy(
        s->stream,
        TensorView::Of(absl::MakeSpan(ids), DType::kI32).Reshaped(out.shape()),
        out));
    OCTET_RETURN_IF_ERROR(s->stream.Synchronize());
  }
  return absl::OkStatus();
}

// A tensor of the device, for comparing.
absl::StatusOr<Tensor> Host(const Session& s, const TensorView& tensor) {
  OCTET_ASSIGN_OR_RETURN(Tensor host,
                         Tensor::Allocate(tensor.dtype(), tensor.shape()));
  OCTET_RETURN_IF_ERROR(Copy(s.stream, tensor, host));
  OCTET_RETURN_IF_ERROR(s.stream.Synchronize());
  return host;
}

// The mean loss of a step's batch; its gradient replaces the store's.
absl::StatusOr<double> RunBatch(int64_t step, Session* s) {
  OCTET_RETURN_IF_ERROR(LoadBatch(step, s));
  OCTET_RETURN_IF_ERROR(s->store->ZeroGradients());
  OCTET_ASSIGN_OR_RETURN(
      const double sum,
      s->model->ForwardBackward(s->inputs, s->targets, 1.0 / s->token_count()));
  OCTET_RETURN_IF_ERROR(s->store->FinishGradients());
  return sum / s->token_count();
}

absl::Status CompareFirstBatch(const io::SafetensorsFile& expected, Session* s,
                               VerifyReport* report) {
  OCTET_RETURN_IF_ERROR(LoadBatch(0, s));
  const Shape shape(
      {s->inputs.shape().dim(0), s->inputs.shape().dim(1), s->vocab_size});
  OCTET_ASSIGN_OR_RETURN(
      const Tensor logits,
      Tensor::Allocate(DType::kF32, shape, s->stream.device()));
  OCTET_RETURN_IF_ERROR(s->model->Logits(s->inputs, logits));
  OCTET_ASSIGN_OR_RETURN(const Tensor host_logits, Host(*s, logits));
  OCTET_ASSIGN_OR_RETURN(const TensorView expected_logits,
                         expected.Find("logits", DType::kF32, shape));
  report->items.push_back({"logits",
                           RelativeError(host_logits, expected_logits),
                           kTensorTolerance});
  OCTET_ASSIGN_OR_RETURN(const double loss, RunBatch(0, s));
  OCTET_ASSIGN_OR_RETURN(const TensorView expected_loss, expected.Find("loss"));
  if (expected_loss.dtype() != DType::kF32 ||
      expected_loss.num_elements() != 1) {
    return absl::DataLossError(absl::StrCat(expected.path(), ": loss is ",
                                            expected_loss.ToString(),
                                            ", expected one f32"));
  }
  report->items.push_back({"loss",
                           std::abs(loss - expected_loss.as<float>()[0]),
                           kLossTolerance, "absolute"});
  for (const fsdp::ParamShard& shard : s->store->shards()) {
    const std::string name = absl::StrCat("grad.", shard.name);
    OCTET_ASSIGN_OR_RETURN(
        const TensorView gradient,
        expected.Find(name, DType::kF32, shard.global_shape));
    OCTET_ASSIGN_OR_RETURN(const Tensor host, Host(*s, shard.gradient));
    report->items.push_back(
        {name, RelativeError(host, gradient), kTensorTolerance});
  }
  return absl::OkStatus();
}

absl::Status CompareSteps(const io::SafetensorsFile& expected, Session* s,
                          VerifyReport* report) {
  const Shape shape({s->steps()});
  OCTET_ASSIGN_OR_RETURN(const TensorView losses,
                         expected.Find("adamw.loss", DType::kF32, shape));
  OCTET_ASSIGN_OR_RETURN(const TensorView norms,
                         expected.Find("adamw.grad_norm", DType::kF32, shape));
  OCTET_ASSIGN_OR_RETURN(
      train::AdamW adamw,
      train::AdamW::Create(s->stream, train::AdamWOptions(), s->store.get()));
  std::vector<TensorView> gradients;
  for (const fsdp::ParamShard& shard : s->store->shards()) {
    gradients.push_back(shard.gradient);
  }
  for (int64_t step = 0; step < s->steps(); ++step) {
    OCTET_ASSIGN_OR_RETURN(const double loss, RunBatch(step, s));
    OCTET_ASSIGN_OR_RETURN(const double squares,
                           train::SumOfSquares(s->stream, gradients));
    const double norm = std::sqrt(squares);
    report->items.push_back({absl::StrCat("adamw.loss[", step, "]"),
                             std::abs(loss - losses.as<float>()[step]),
                             kLossTolerance, "absolute"});
    report->items.push_back({absl::StrCat("adamw.grad_norm[", step, "]"),
                             std::abs(norm / norms.as<float>()[step] - 1.0),
                             kTensorTolerance});
    OCTET_ASSIGN_OR_RETURN(const double scale,
                           train::ClipCoefficient(norm, 1.0));
    OCTET_RETURN_IF_ERROR(adamw.Step(s->stream, 1e-3, scale));
  }
  for (const fsdp::ParamShard& shard : s->store->shards()) {
    const std::string name = absl::StrCat("adamw.final.", shard.name);
    OCTET_ASSIGN_OR_RETURN(
        const TensorView weight,
        expected.Find(name, DType::kF32, shard.global_shape));
    OCTET_ASSIGN_OR_RETURN(const Tensor host, Host(*s, shard.master));
    report->items.push_back(
        {name, RelativeError(host, weight), kTensorTolerance});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<VerifyReport> VerifyLlama(const Stream& stream,
                                         const std::string& folder) {
  OCTET_ASSIGN_OR_RETURN(
      const io::SafetensorsFile expected,
      io::SafetensorsFile::Open(io::JoinPath(folder, "expected.safetensors")));
  OCTET_ASSIGN_OR_RETURN(Session session, Open(stream, folder, expected));
  VerifyReport report;
  report.path = folder;
  OCTET_RETURN_IF_ERROR(CompareFirstBatch(expected, &session, &report));
  OCTET_RETURN_IF_ERROR(CompareSteps(expected, &session, &report));
  return report;
}

}  // namespace octet::tools
