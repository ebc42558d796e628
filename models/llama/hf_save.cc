// SPDX-License-Identifier: Apache-2.0

// Weights and config.json into a folder.
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/convert.h"
#include "base/float16.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "io/file.h"
#include "io/safetensors_set.h"
#include "models/llama/hf.h"
#include "models/llama/params.h"

namespace octet::models {
namespace {

// The names must be the model's, each once.
absl::Status CheckWeights(const LlamaConfig& config,
                          absl::Span<const io::NamedTensor> weights) {
  size_t count = 0;
  for (const fsdp::UnitSpec& unit : UnitSpecs(config)) {
    for (const fsdp::ParamSpec& param : unit.params) {
      ++count;
      int matches = 0;
      for (const io::NamedTensor& weight : weights) {
        if (weight.name != param.name) continue;
        ++matches;
        if (weight.tensor.dtype() != DType::kF32 ||
            weight.tensor.shape() != param.shape ||
            weight.tensor.device().kind != DeviceKind::kCpu) {
          return absl::InvalidArgumentError(absl::StrCat(
              "SaveHf: ", param.name, " is ", weight.tensor.ToString(),
              ", expected f32 ", param.shape.ToString(), " on cpu"));
        }
      }
      if (matches != 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            "SaveHf: ", param.name, " is given ", matches, " times"));
      }
    }
  }
  if (weights.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "SaveHf: ", weights.size(), " tensors, the model has ", count));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Narrow(const TensorView& in) {
  OCTET_ASSIGN_OR_RETURN(Tensor out,
                         Tensor::Allocate(DType::kBf16, in.shape()));
  const float* from = in.as<float>();
  Bfloat16* to = out.as<Bfloat16>();
  ParallelFor(in.num_elements(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = ToBfloat16(from[i]);
  });
  return out;
}

}  // namespace

absl::Status SaveHf(const std::string& folder, const LlamaConfig& config,
                    absl::Span<const io::NamedTensor> weights,
                    const HfSaveOptions& options) {
  OCTET_RETURN_IF_ERROR(Validate(config));
  if (options.dtype != DType::kBf16 && options.dtype != DType::kF32) {
    return absl::InvalidArgumentError(absl::StrCat(
        "SaveHf: dtype is ", Name(options.dtype), ", expected bf16 or f32"));
  }
  OCTET_RETURN_IF_ERROR(CheckWeights(config, weights));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("SaveHf: cannot create ", folder, ": ", error.message()));
  }
  OCTET_RETURN_IF_ERROR(io::WriteJsonFile(io::JoinPath(folder, "config.json"),
                                          HfConfig(config, options.dtype)));
  std::vector<io::NamedTensor> tensors(weights.begin(), weights.end());
  std::vector<Tensor> narrow;
  if (options.dtype == DType::kBf16) {
    for (io::NamedTensor& tensor : tensors) {
      OCTET_ASSIGN_OR_RETURN(Tensor copy, Narrow(tensor.tensor));
      tensor.tensor = copy.view();
      narrow.push_back(std::move(copy));
    }
  }
  io::SafetensorsSetOptions set_options;
  set_options.max_shard_bytes = options.max_shard_bytes;
  return io::WriteSafetensorsSet(folder, tensors, set_options);
}

absl::Status SaveHf(const Stream& stream, const std::string& folder,
                    const LlamaConfig& config, const fsdp::ParamStore& store,
                    const HfSaveOptions& options) {
  OCTET_RETURN_IF_ERROR(CheckStore(config, store));
  std::vector<io::NamedTensor> weights;
  std::vector<Tensor> copies;
  for (const fsdp::ParamShard& shard : store.shards()) {
    if (shard.master.shape() != shard.global_shape) {
      return absl::FailedPreconditionError(absl::StrCat(
          "SaveHf: ", shard.name, " is sharded: ", shard.master.ToString(),
          " of ", shard.global_shape.ToString()));
    }
    TensorView view = shard.master;
    if (view.device().kind != DeviceKind::kCpu) {
      OCTET_ASSIGN_OR_RETURN(Tensor host,
                             Tensor::Allocate(view.dtype(), view.shape()));
      OCTET_RETURN_IF_ERROR(Copy(stream, view, host));
      OCTET_RETURN_IF_ERROR(stream.Synchronize());
      view = host.view();
      copies.push_back(std::move(host));
    }
    if (view.dtype() == DType::kBf16) {
      OCTET_ASSIGN_OR_RETURN(Tensor wide,
                             Tensor::Allocate(DType::kF32, view.shape()));
      OCTET_RETURN_IF_ERROR(Convert(Stream(), view, wide));
      view = wide.view();
      copies.push_back(std::move(wide));
    }
    weights.push_back({shard.name, view});
  }
  return SaveHf(folder, config, weights, options);
}

}  // namespace octet::models
