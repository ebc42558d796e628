// SPDX-License-Identifier: Apache-2.0

// A Llama and how it is trained, as plain sizes.
#ifndef OCTET_ROOFLINE_MODEL_JOB_H_
#define OCTET_ROOFLINE_MODEL_JOB_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "roofline/cost.h"
#include "roofline/polynomial.h"

namespace octet::roofline {

struct ModelShape {
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t mlp = 0;
  int64_t vocab = 0;
  bool tied = false;  // the head's weight is the embedding's
};

enum class Recompute { kNone, kFull };

// "none", "full"; InvalidArgument that lists them.
absl::StatusOr<Recompute> ParseRecompute(absl::string_view name);

// FSDP: each rank has a slice of every parameter; a block's are gathered for
// its forward and again for its backward pass, one block ahead, and its
// gradients reduced and scattered.
struct ModelJob {
  int64_t batch = 1;  // sequences of a GPU in one pass
  int64_t sequence = 8192;
  int64_t microbatches = 1;  // passes of a step
  int64_t ranks = 1;         // GPUs
  // GPUs that share one copy; a divisor of ranks. 0: all of them. The copies
  // add their gradients up (HSDP).
  int64_t shard_ranks = 0;

  std::string recipe = "tensorwise";  // CostModel::kOctet's
  Recompute recompute = Recompute::kNone;
  Gather gather = Gather::kBf16;  // weights on the wire; kNone is refused
  // Of the master weights, of both moments, and of the gradients.
  int64_t state_bytes = 4;
  int64_t reduce_bytes = 4;  // of a gradient on the wire
  // Norms and SwiGLU take the amax of what they make, or cast it.
  bool fused_producer = true;
  // Layers that float8 makes slower stay in bf16.
  bool only_faster = false;
  // Tokens whose logits exist at once.
  int64_t loss_chunk = 1024;
  // What attention reaches of the bf16 peak, counting the causal half: 52.8
  // TFLOP in 108 ms (Llama 3 8B, 8192 tokens, cuDNN, forward and backward).
  double attention_share = 0.494;
};

// InvalidArgument names the first field that cannot be, with its value.
absl::Status CheckShape(const ModelShape& shape);
absl::Status CheckJob(const ModelJob& job);

// Exact below 2^53.
double BlockParameters(const ModelShape& shape);  // of one block
double EmbeddingParameters(const ModelShape& shape);
double Parameters(const ModelShape& shape);
// Of the linear layers of all blocks.
double LinearParameters(const ModelShape& shape);

// 6 (N - N_embedding) + 12 layers heads head_dim sequence: forward and
// backward, causal half not discounted, recompute not counted. A tied
// embedding is the head and is counted.
double FlopsPerToken(const ModelShape& shape, int64_t sequence);

// A linear layer of a block as it is multiplied: q, k and v together, gate and
// up together. `m` of its sizes is the tokens of a pass.
struct ModelLinear {
  std::string name;  // "qkv", "o", "gate_up", "down"
  Sizes sizes;
  // Made by a norm or by SwiGLU, forward or backward, which can take the amax;
  // attention's output and gradients cannot.
  bool input_from_producer = false;
  bool gradient_from_producer = false;
};

std::vector<ModelLinear> ModelLinears(const ModelShape& shape, int64_t tokens);

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_MODEL_JOB_H_
