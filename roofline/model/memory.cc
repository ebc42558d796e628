// SPDX-License-Identifier: Apache-2.0

#include "roofline/model/memory.h"

#include <algorithm>

namespace octet::roofline {

double ActivationBytes(const ModelShape& s, bool is_float8) {
  const double hidden = static_cast<double>(s.hidden);
  const double queries =
      static_cast<double>(s.heads) * static_cast<double>(s.head_dim);
  const double keys =
      static_cast<double>(s.kv_heads) * static_cast<double>(s.head_dim);
  const double mlp = static_cast<double>(s.mlp);
  // The input of each linear layer, which its weight's gradient needs: in
  // float8 the transposed bytes.
  const double width = is_float8 ? 1.0 : 2.0;
  const double inputs = width * (2.0 * hidden + queries + mlp);
  // bf16: the sums before both norms; q, k, v and the output of attention, in
  // bf16 the output layer's input as well; gate and up. f32: the log-sum-exp.
  const double attention =
      2.0 * (queries + 2.0 * keys) + (is_float8 ? 2.0 * queries : 0.0);
  return inputs + 4.0 * hidden + attention + 4.0 * mlp +
         4.0 * static_cast<double>(s.heads);
}

ModelMemory EstimateModelMemory(const ModelShape& shape, const ModelJob& job) {
  const bool is_float8 = job.recipe != "bf16";
  const double all = Parameters(shape);
  const double shards =
      static_cast<double>(job.shard_ranks > 0 ? job.shard_ranks : job.ranks);
  const double tokens =
      static_cast<double>(job.batch) * static_cast<double>(job.sequence);
  const double state = static_cast<double>(job.state_bytes);
  ModelMemory m;
  m.master = all * state / shards;
  m.moments = 2.0 * all * state / shards;
  m.gradients = all * state / shards;
  const double tables =
      (shape.tied ? 1.0 : 2.0) * 2.0 * EmbeddingParameters(shape);
  if (shards == 1.0) {
    // bf16 masters are multiplied as they are.
    const bool copies = is_float8 || job.state_bytes == 4;
    m.weights = (copies ? 2.0 * LinearParameters(shape) : 0.0) +
                (job.state_bytes == 4 ? tables : 0.0);
  } else {
    m.weights = 2.0 * 2.0 * BlockParameters(shape) + tables +
                2.0 * 2.0 * BlockParameters(shape);
  }
  const double block = ActivationBytes(shape, is_float8);
  const double layers = static_cast<double>(shape.layers);
  const double hidden = static_cast<double>(shape.hidden);
  // Of a block in work: its activations and the widest gradients.
  const double working =
      2.0 * (3.0 * static_cast<double>(shape.mlp) + 3.0 * hidden);
  m.activations = tokens * (job.recompute == Recompute::kFull
                                ? layers * 2.0 * hidden + block + working
                                : layers * block + working);
  m.logits = std::min(tokens, static_cast<double>(job.loss_chunk)) *
             static_cast<double>(shape.vocab) * 6.0;
  m.runtime = 1.5 * (1 << 30);
  return m;
}

}  // namespace octet::roofline
