// SPDX-License-Identifier: Apache-2.0

// The shape of a Llama, and what follows from it. Plain data.
#ifndef OCTET_MODELS_LLAMA_CONFIG_H_
#define OCTET_MODELS_LLAMA_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/layers/rope.h"

namespace octet::models {

struct LlamaConfig {
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_position_embeddings = 8192;
  double rope_theta = 500000.0;
  std::optional<RopeScaling> rope_scaling;
  double rms_norm_eps = 1e-5;
  // The head's weight is the embedding's.
  bool tie_word_embeddings = false;

  bool operator==(const LlamaConfig& o) const;
  bool operator!=(const LlamaConfig& o) const { return !(*this == o); }
};

// InvalidArgument names the first field that cannot be, with its value.
absl::Status Validate(const LlamaConfig& config);

// A model known by name.
struct LlamaPreset {
  std::string name;
  std::string summary;
  LlamaConfig config;
};

// tiny and debug, 150M, and Meta's 1B, 3B (Llama 3.2), 8B, 70B, 405B (3.1); in
// order of size.
const std::vector<LlamaPreset>& LlamaPresets();

// InvalidArgument lists the names.
absl::StatusOr<LlamaConfig> LlamaPresetConfig(absl::string_view name);

// Elements of all parameters; a tied embedding counts once.
int64_t NumParameters(const LlamaConfig& config);

// 6 (N - N_embedding) + 12 layers heads head_dim length: forward and backward,
// the causal half not discounted, recomputation not counted. A tied embedding
// is also the head, and is not subtracted.
int64_t FlopsPerToken(const LlamaConfig& config, int64_t length);

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_CONFIG_H_
