// SPDX-License-Identifier: Apache-2.0

// A Llama in Hugging Face's format: a folder with config.json and
// model.safetensors, or its shards and their index.
#ifndef OCTET_MODELS_LLAMA_HF_H_
#define OCTET_MODELS_LLAMA_HF_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/dtype.h"
#include "base/stream.h"
#include "fsdp/param_store.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "models/llama/config.h"

namespace octet::models {

// Takes what LlamaForCausalLM takes: head_dim and num_key_value_heads may be
// absent, rotary embedding may be under rope_theta and rope_scaling or under
// rope_parameters. Unimplemented names what this model cannot do: biases,
// another activation, another rope type, another model. DataLoss for a missing
// or mistyped field; `name` starts the message.
absl::StatusOr<LlamaConfig> ParseHfConfig(const io::Json& json,
                                          absl::string_view name);
// Of FOLDER/config.json.
absl::StatusOr<LlamaConfig> ReadHfConfig(const std::string& folder);

// `dtype` is that of the tensors beside it: f32 or bf16.
io::Json HfConfig(const LlamaConfig& config, DType dtype);

// Reads this rank's rows of every parameter into the store's f32 shards, then
// tells the store. Tensors may be f64, f32, f16, bf16, or float8 with a scale
// beside them: one for the tensor, one for each row, or one for each 128 x 128
// block. NotFound names a missing tensor; InvalidArgument one that is too many
// or of another shape; DataLoss float8 without a scale. On an error the shards
// may hold some of the new weights.
absl::Status LoadHfWeights(const Stream& stream, const std::string& folder,
                           const LlamaConfig& config, fsdp::ParamStore* store);

struct HfSaveOptions {
  DType dtype = DType::kBf16;  // or f32
  int64_t max_shard_bytes = 5'000'000'000;
};

// Writes the folder, which is created: config.json, then the weights, f32 [..]
// host tensors under this model's names, rounded to options.dtype.
absl::Status SaveHf(const std::string& folder, const LlamaConfig& config,
                    absl::Span<const io::NamedTensor> weights,
                    const HfSaveOptions& options = {});

// The same of a store that holds whole parameters; FailedPrecondition for a
// sharded one, whose rows must be gathered first.
absl::Status SaveHf(const Stream& stream, const std::string& folder,
                    const LlamaConfig& config, const fsdp::ParamStore& store,
                    const HfSaveOptions& options = {});

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_HF_H_
