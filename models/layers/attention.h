// SPDX-License-Identifier: Apache-2.0

// Causal attention with grouped queries.
//
//   q, o and their gradients [batch, length, heads, head_dim]
//   k, v and their gradients [batch, length, kv_heads, head_dim]
//   all in one dtype: f32, bf16 or f64
//   log_sum_exp [batch, heads, length], f32 (f64 for f64)
//   o = softmax(q k^T / sqrt(head_dim), over keys up to the query's own) v
//
// Query head h reads key and value head h / (heads / kv_heads). Only the
// log-sum-exp of the scores is kept: backward computes them again, a block of
// rows at a time, so memory grows with length and not with its square. Outputs
// are overwritten. Bitwise repeatable, unless backward is told otherwise.
#ifndef OCTET_MODELS_LAYERS_ATTENTION_H_
#define OCTET_MODELS_LAYERS_ATTENTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::models {

struct AttentionForwardArgs {
  TensorView q;
  TensorView k;
  TensorView v;
  TensorView o;
  TensorView log_sum_exp;
};
absl::Status AttentionForward(const Stream& stream,
                              const AttentionForwardArgs& args);

struct AttentionBackwardArgs {
  AttentionForwardArgs forward;  // its inputs and outputs, all read
  TensorView grad_o;
  TensorView dq;
  TensorView dk;
  TensorView dv;
  // False: the bits of the gradients may differ from run to run, which can be
  // faster and take less scratch. No difference where a kernel has one way
  // alone: the CPU's, and the plain one of CUDA.
  bool deterministic = true;
  // What deterministic kernels may take of the stream's scratch memory for
  // gradients of scores, 2 bytes each: heads that do not fit are taken in turn,
  // which is slower. One key head with its query heads is always taken.
  int64_t scratch_budget = int64_t{2} << 30;
};
absl::Status AttentionBackward(const Stream& stream,
                               const AttentionBackwardArgs& args);

}  // namespace octet::models

#endif  // OCTET_MODELS_LAYERS_ATTENTION_H_
