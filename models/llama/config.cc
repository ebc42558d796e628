// SPDX-License-Identifier: Apache-2.0
#include "models/llama/config.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace octet::models {
namespace {

absl::Status CheckScaling(const RopeScaling& s) {
  if (!(s.factor >= 1.0) || !std::isfinite(s.factor) ||
      !(s.low_freq_factor > 0.0) || !(s.high_freq_factor > s.low_freq_factor) ||
      !std::isfinite(s.high_freq_factor) ||
      s.original_max_position_embeddings <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "llama: rope scaling has factor ", s.factor, ", low_freq_factor ",
        s.low_freq_factor, ", high_freq_factor ", s.high_freq_factor,
        ", original_max_position_embeddings ",
        s.original_max_position_embeddings,
        "; expected factor >= 1, 0 < low < high and a positive length"));
  }
  return absl::OkStatus();
}

LlamaConfig Make(int64_t hidden, int64_t layers, int64_t heads,
                 int64_t kv_heads, int64_t intermediate, int64_t vocab) {
  LlamaConfig config;
  config.vocab_size = vocab;
  config.hidden_size = hidden;
  config.intermediate_size = intermediate;
  config.num_layers = layers;
  config.num_heads = heads;
  config.num_kv_heads = kv_heads;
  config.head_dim = hidden / heads;
  return config;
}

LlamaConfig WithLongContext(LlamaConfig config, double factor) {
  config.rope_scaling = RopeScaling{factor, 1.0, 4.0, 8192};
  config.max_position_embeddings = 131072;
  return config;
}

LlamaConfig Tied(LlamaConfig config) {
  config.tie_word_embeddings = true;
  return config;
}

std::vector<LlamaPreset> MakePresets() {
  LlamaConfig tiny = Make(192, 4, 6, 2, 512, 256);
  tiny.max_position_embeddings = 2048;
  tiny.rope_theta = 10000.0;
  return {
      {"tiny", "bytes as tokens; what the default job trains on a CPU", tiny},
      {"debug", "torchtitan's debugmodel, of 2048 tokens",
       Make(256, 6, 16, 16, 768, 2048)},
      // 64 wide heads and a third as many for keys, as in the smallest models
      // of this family; GPT-2's vocabulary in whole tiles of 64, which llm.c's
      // token files have.
      {"150M", "12 layers of 768, GPT-2's vocabulary",
       Make(768, 12, 12, 4, 2048, 50304)},
      {"1B", "Llama 3.2 1B",
       WithLongContext(Tied(Make(2048, 16, 32, 8, 8192, 128256)), 32.0)},
      {"3B", "Llama 3.2 3B",
       WithLongContext(Tied(Make(3072, 28, 24, 8, 8192, 128256)), 32.0)},
      {"8B", "Llama 3.1 8B",
       WithLongContext(Make(4096, 32, 32, 8, 14336, 128256), 8.0)},
      {"70B", "Llama 3.1 70B",
       WithLongContext(Make(8192, 80, 64, 8, 28672, 128256), 8.0)},
      {"405B", "Llama 3.1 405B",
       WithLongContext(Make(16384, 126, 128, 8, 53248, 128256), 8.0)},
  };
}

}  // namespace

bool LlamaConfig::operator==(const LlamaConfig& o) const {
  return vocab_size == o.vocab_size && hidden_size == o.hidden_size &&
         intermediate_size == o.intermediate_size &&
         num_layers == o.num_layers && num_heads == o.num_heads &&
         num_kv_heads == o.num_kv_heads && head_dim == o.head_dim &&
         max_position_embeddings == o.max_position_embeddings &&
         rope_theta == o.rope_theta && rope_scaling == o.rope_scaling &&
         rms_norm_eps == o.rms_norm_eps &&
         tie_word_embeddings == o.tie_word_embeddings;
}

absl::Status Validate(const LlamaConfig& config) {
  struct Field {
    const char* name;
    int64_t value;
  };
  // Sizes at which no product of two, and no parameter count, overflows.
  constexpr int64_t kLargest = int64_t{1} << 28;
  for (const Field& field :
       {Field{"vocab_size", config.vocab_size},
        Field{"hidden_size", config.hidden_size},
        Field{"intermediate_size", config.intermediate_size},
        Field{"num_heads", config.num_heads},
        Field{"num_kv_heads", config.num_kv_heads},
        Field{"head_dim", config.head_dim},
        Field{"num_layers", config.num_layers},
        Field{"max_position_embeddings", config.max_position_embeddings}}) {
    if (field.value <= 0 || field.value > kLargest) {
      return absl::InvalidArgumentError(
          absl::StrCat("llama: ", field.name, " is ", field.value,
                       ", expected 1 to ", kLargest));
    }
  }
  if (config.num_layers > 100000) {
    return absl::InvalidArgumentError(
        absl::StrCat("llama: num_layers is ", config.num_layers));
  }
  if (config.num_heads % config.num_kv_heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "llama: num_heads ", config.num_heads,
        " is not a multiple of num_kv_heads ", config.num_kv_heads));
  }
  if (config.head_dim % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("llama: head_dim is ", config.head_dim,
                     ", expected an even number for rotary embedding"));
  }
  if (!(config.rope_theta > 0.0) || !std::isfinite(config.rope_theta)) {
    return absl::InvalidArgumentError(
        absl::StrCat("llama: rope_theta is ", config.rope_theta));
  }
  if (!(config.rms_norm_eps > 0.0) || !std::isfinite(config.rms_norm_eps)) {
    return absl::InvalidArgumentError(
        absl::StrCat("llama: rms_norm_eps is ", config.rms_norm_eps));
  }
  if (config.rope_scaling.has_value()) {
    OCTET_RETURN_IF_ERROR(CheckScaling(*config.rope_scaling));
  }
  return absl::OkStatus();
}

const std::vector<LlamaPreset>& LlamaPresets() {
  static const auto* presets = new std::vector<LlamaPreset>(MakePresets());
  return *presets;
}

absl::StatusOr<LlamaConfig> LlamaPresetConfig(absl::string_view name) {
  std::vector<std::string> names;
  for (const LlamaPreset& preset : LlamaPresets()) {
    if (preset.name == name) return preset.config;
    names.push_back(preset.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("llama: no preset is called \"", name,
                   "\"; there are: ", absl::StrJoin(names, ", ")));
}

int64_t NumParameters(const LlamaConfig& c) {
  const int64_t queries = c.num_heads * c.head_dim;
  const int64_t keys = c.num_kv_heads * c.head_dim;
  const int64_t block =
      c.hidden_size * (2 * queries + 2 * keys + 3 * c.intermediate_size + 2);
  const int64_t tables = c.tie_word_embeddings ? 1 : 2;
  return tables * c.vocab_size * c.hidden_size + c.num_layers * block +
         c.hidden_size;
}

int64_t FlopsPerToken(const LlamaConfig& c, int64_t length) {
  const int64_t embedding =
      c.tie_word_embeddings ? 0 : c.vocab_size * c.hidden_size;
  return 6 * (NumParameters(c) - embedding) +
         12 * c.num_layers * c.num_heads * c.head_dim * length;
}

}  // namespace octet::models
