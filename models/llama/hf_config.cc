// SPDX-License-Identifier: Apache-2.0

// config.json, both ways.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/file.h"
#include "models/llama/hf.h"

namespace octet::models {
namespace {

using io::Json;

bool Has(const Json& json, const char* key) {
  return json.contains(key) && !json[key].is_null();
}

absl::Status GetOptional(const Json& json, const char* key,
                         absl::string_view name, int64_t* out) {
  if (!Has(json, key)) return absl::OkStatus();
  OCTET_ASSIGN_OR_RETURN(*out, io::GetInt(json, key, name));
  return absl::OkStatus();
}

absl::Status GetOptional(const Json& json, const char* key,
                         absl::string_view name, double* out) {
  if (!Has(json, key)) return absl::OkStatus();
  OCTET_ASSIGN_OR_RETURN(*out, io::GetNumber(json, key, name));
  return absl::OkStatus();
}

absl::Status GetOptional(const Json& json, const char* key,
                         absl::string_view name, bool* out) {
  if (!Has(json, key)) return absl::OkStatus();
  OCTET_ASSIGN_OR_RETURN(*out, io::GetBool(json, key, name));
  return absl::OkStatus();
}

absl::Status GetOptional(const Json& json, const char* key,
                         absl::string_view name, std::string* out) {
  if (!Has(json, key)) return absl::OkStatus();
  OCTET_ASSIGN_OR_RETURN(*out, io::GetString(json, key, name));
  return absl::OkStatus();
}

absl::Status Unsupported(absl::string_view name, absl::string_view what) {
  return absl::UnimplementedError(
      absl::StrCat(name, ": ", what, " is not supported"));
}

absl::Status CheckSupported(const Json& json, absl::string_view name) {
  std::string model_type = "llama";
  OCTET_RETURN_IF_ERROR(GetOptional(json, "model_type", name, &model_type));
  if (model_type != "llama") {
    return Unsupported(name, absl::StrCat("model_type \"", model_type, "\""));
  }
  std::string activation = "silu";
  OCTET_RETURN_IF_ERROR(GetOptional(json, "hidden_act", name, &activation));
  if (activation != "silu") {
    return Unsupported(name, absl::StrCat("hidden_act \"", activation, "\""));
  }
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    bool bias = false;
    OCTET_RETURN_IF_ERROR(GetOptional(json, key, name, &bias));
    if (bias) return Unsupported(name, absl::StrCat(key, " true"));
  }
  double dropout = 0.0;
  OCTET_RETURN_IF_ERROR(GetOptional(json, "attention_dropout", name, &dropout));
  if (dropout != 0.0) {
    return Unsupported(name, absl::StrCat("attention_dropout ", dropout));
  }
  return absl::OkStatus();
}

// Fields of rope_parameters, or of rope_scaling.
absl::Status ParseRope(const Json& rope, absl::string_view name,
                       LlamaConfig* config) {
  if (!rope.is_object()) {
    return absl::DataLossError(
        absl::StrCat(name, ": the rope parameters are not an object"));
  }
  std::string type = "default";
  OCTET_RETURN_IF_ERROR(GetOptional(rope, "type", name, &type));
  OCTET_RETURN_IF_ERROR(GetOptional(rope, "rope_type", name, &type));
  OCTET_RETURN_IF_ERROR(
      GetOptional(rope, "rope_theta", name, &config->rope_theta));
  double partial = 1.0;
  OCTET_RETURN_IF_ERROR(
      GetOptional(rope, "partial_rotary_factor", name, &partial));
  if (partial != 1.0) {
    return Unsupported(name, absl::StrCat("partial_rotary_factor ", partial));
  }
  if (type == "default") return absl::OkStatus();
  if (type != "llama3") {
    return Unsupported(name, absl::StrCat("rope type \"", type, "\""));
  }
  RopeScaling scaling;
  OCTET_ASSIGN_OR_RETURN(scaling.factor, io::GetNumber(rope, "factor", name));
  OCTET_ASSIGN_OR_RETURN(scaling.low_freq_factor,
                         io::GetNumber(rope, "low_freq_factor", name));
  OCTET_ASSIGN_OR_RETURN(scaling.high_freq_factor,
                         io::GetNumber(rope, "high_freq_factor", name));
  OCTET_ASSIGN_OR_RETURN(
      scaling.original_max_position_embeddings,
      io::GetInt(rope, "original_max_position_embeddings", name));
  config->rope_scaling = scaling;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LlamaConfig> ParseHfConfig(const Json& json,
                                          absl::string_view name) {
  OCTET_RETURN_IF_ERROR(CheckSupported(json, name));
  LlamaConfig config;
  OCTET_ASSIGN_OR_RETURN(config.vocab_size,
                         io::GetInt(json, "vocab_size", name));
  OCTET_ASSIGN_OR_RETURN(config.hidden_size,
                         io::GetInt(json, "hidden_size", name));
  OCTET_ASSIGN_OR_RETURN(config.intermediate_size,
                         io::GetInt(json, "intermediate_size", name));
  OCTET_ASSIGN_OR_RETURN(config.num_layers,
                         io::GetInt(json, "num_hidden_layers", name));
  OCTET_ASSIGN_OR_RETURN(config.num_heads,
                         io::GetInt(json, "num_attention_heads", name));
  config.num_kv_heads = config.num_heads;
  OCTET_RETURN_IF_ERROR(
      GetOptional(json, "num_key_value_heads", name, &config.num_kv_heads));
  if (config.num_heads > 0) {
    config.head_dim = config.hidden_size / config.num_heads;
  }
  OCTET_RETURN_IF_ERROR(GetOptional(json, "head_dim", name, &config.head_dim));
  // What transformers takes for a field that is absent.
  config.max_position_embeddings = 2048;
  config.rms_norm_eps = 1e-6;
  config.rope_theta = 10000.0;
  OCTET_RETURN_IF_ERROR(GetOptional(json, "max_position_embeddings", name,
                                    &config.max_position_embeddings));
  OCTET_RETURN_IF_ERROR(
      GetOptional(json, "rms_norm_eps", name, &config.rms_norm_eps));
  OCTET_RETURN_IF_ERROR(GetOptional(json, "tie_word_embeddings", name,
                                    &config.tie_word_embeddings));
  OCTET_RETURN_IF_ERROR(
      GetOptional(json, "rope_theta", name, &config.rope_theta));
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!Has(json, key)) continue;
    OCTET_RETURN_IF_ERROR(ParseRope(json[key], name, &config));
  }
  if (absl::Status status = Validate(config); !status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat(name, ": ", status.message()));
  }
  return config;
}

absl::StatusOr<LlamaConfig> ReadHfConfig(const std::string& folder) {
  const std::string path = io::JoinPath(folder, "config.json");
  OCTET_ASSIGN_OR_RETURN(const Json json, io::ReadJsonFile(path));
  return ParseHfConfig(json, path);
}

Json HfConfig(const LlamaConfig& config, DType dtype) {
  Json json = {
      {"architectures", Json::array({"LlamaForCausalLM"})},
      {"model_type", "llama"},
      {"vocab_size", config.vocab_size},
      {"hidden_size", config.hidden_size},
      {"intermediate_size", config.intermediate_size},
      {"num_hidden_layers", config.num_layers},
      {"num_attention_heads", config.num_heads},
      {"num_key_value_heads", config.num_kv_heads},
      {"head_dim", config.head_dim},
      {"max_position_embeddings", config.max_position_embeddings},
      {"rms_norm_eps", config.rms_norm_eps},
      {"rope_theta", config.rope_theta},
      {"rope_scaling", nullptr},
      {"tie_word_embeddings", config.tie_word_embeddings},
      {"hidden_act", "silu"},
      {"attention_bias", false},
      {"mlp_bias", false},
      {"attention_dropout", 0.0},
      {"initializer_range", 0.02},
      {"use_cache", true},
      {"torch_dtype", dtype == DType::kBf16 ? "bfloat16" : "float32"},
  };
  if (config.rope_scaling.has_value()) {
    const RopeScaling& s = *config.rope_scaling;
    json["rope_scaling"] = {
        {"rope_type", "llama3"},
        {"factor", s.factor},
        {"low_freq_factor", s.low_freq_factor},
        {"high_freq_factor", s.high_freq_factor},
        {"original_max_position_embeddings",
         s.original_max_position_embeddings},
    };
  }
  return json;
}

}  // namespace octet::models
