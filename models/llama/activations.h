// SPDX-License-Identifier: Apache-2.0

// What a step keeps between forward and backward, in one piece of memory.
//
// Tokens are rows: tokens = batch * length. All are of the compute dtype but
// the statistics, which are f32 (f64 for f64).
#ifndef OCTET_MODELS_LLAMA_ACTIVATIONS_H_
#define OCTET_MODELS_LLAMA_ACTIVATIONS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "models/llama/config.h"

namespace octet::models {

// Of one block, kept until its backward pass.
struct BlockActivations {
  TensorView x;               // residual stream into attention [tokens, hidden]
  TensorView attention_rstd;  // [tokens]
  TensorView attention_in;    // x normalised
  TensorView q, k, v;         // [batch, length, heads, head_dim], q, k turned
  TensorView o;               // attention's output, like q
  TensorView log_sum_exp;     // [batch, heads, length]
  TensorView mlp_x;           // residual stream into the MLP
  TensorView mlp_rstd;        // [tokens]
  TensorView mlp_in;          // mlp_x normalised
  TensorView gate, up;        // [tokens, intermediate]
  TensorView down_in;         // silu(gate) * up
};

// What a block keeps of its forward pass; the rest is in memory that blocks
// share, and is computed again by backward, with the same bits.
enum class Keep : uint8_t {
  kAll,
  kAttention,  // all but the MLP's: mlp_in, gate, up, down_in
  kInput,      // x alone
};

// Used by one block after the other.
struct Scratch {
  TensorView delta;         // what a layer adds to the residual stream
  TensorView grad_x;        // gradient of the residual stream
  TensorView grad_x_amax;   // f32 [1, 1], its amax; absent: nobody asks
  TensorView grad_in;       // gradient of a normalised input
  TensorView grad_down_in;  // [tokens, intermediate]
  TensorView grad_o, dq, dk, dv;
  TensorView amax, other_amax;  // f32 [1, 1]
};

struct HeadActivations {
  TensorView x;        // the residual stream at the end
  TensorView rstd;     // [tokens]
  TensorView in;       // normalised
  TensorView losses;   // f64 [tokens]
  TensorView logits;   // statistic dtype [chunk, vocab]
  TensorView dlogits;  // compute dtype; the memory of logits where that fits
};

struct ActivationOptions {
  int64_t batch = 0;
  int64_t length = 0;
  int64_t loss_chunk = 0;  // tokens
  DType compute_dtype = DType::kF32;
  bool wants_grad_x_amax = false;
  // Whether backward reads these inputs, block by block; else blocks share one.
  struct BlockNeeds {
    bool attention_in = true;
    bool mlp_in = true;
    bool down_in = true;
    Keep keep = Keep::kAll;
  };
  std::vector<BlockNeeds> needs;
};

struct ActivationLayout {
  int64_t bytes = 0;
  // Where each block's own part begins; the last one's ends with `bytes`. Once
  // backward is done with a block, nobody reads its part again.
  std::vector<int64_t> block_begins;
};

class Activations {
 public:
  Activations() = default;
  // In memory of the caller's, as far as that is enough.
  explicit Activations(const TensorView& memory) : view_(memory) {}

  // Lays everything out for a batch; keeps its memory where that is enough.
  // ResourceExhausted names the bytes.
  absl::Status Plan(const Stream& stream, const LlamaConfig& config,
                    const ActivationOptions& options);

  // What Plan would want.
  static ActivationLayout Layout(const LlamaConfig& config,
                                 const ActivationOptions& options);

  int64_t num_bytes() const { return view_.num_bytes(); }
  int64_t batch() const { return batch_; }
  int64_t length() const { return length_; }
  BlockActivations& block(int64_t i) { return blocks_[i]; }
  Scratch& scratch() { return scratch_; }
  HeadActivations& head() { return head_; }

 private:
  class Arena;
  class BlockPlaces;
  void LayOut(const LlamaConfig& config, const ActivationOptions& options,
              Arena* arena);

  int64_t batch_ = 0;
  int64_t length_ = 0;
  Tensor memory_;
  TensorView view_;  // of it, or the caller's
  std::vector<BlockActivations> blocks_;
  std::vector<int64_t> block_begins_;
  Scratch scratch_;
  HeadActivations head_;
};

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_ACTIVATIONS_H_
