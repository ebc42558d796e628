// SPDX-License-Identifier: Apache-2.0

// Cross-entropy of rows of logits against token ids, and its gradient.
//
//   logits [rows, vocab] f32 (f64 for f64);  targets [rows] i32
//   losses[i] = log(sum_j exp(logits[i, j])) - logits[i, targets[i]]
//   dlogits = (softmax - one_hot) * grad_scale
//
// A row whose target is kIgnoreIndex has loss 0 and gradient 0. Called on a few
// tokens at a time, so that the logits of a batch never exist whole: see
// models/llama/head.h. Queued on `stream`, which names the device; views must
// outlive the work. The same bits every time; devices differ in the last bits.
#ifndef OCTET_MODELS_LAYERS_CROSS_ENTROPY_H_
#define OCTET_MODELS_LAYERS_CROSS_ENTROPY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::models {

inline constexpr int32_t kIgnoreIndex = -100;

struct CrossEntropyArgs {
  TensorView logits;
  TensorView targets;
  double grad_scale = 1.0;
  TensorView losses;  // f64 [rows], overwritten
  // [rows, vocab] f32, bf16, or f64 for f64 logits; overwritten; may be the
  // memory of logits if the dtype is the same. Absent: no gradient.
  TensorView dlogits;
};

// OutOfRange, on the CPU, names the first target that is neither in the
// vocabulary nor kIgnoreIndex; a GPU, which does not stop for it, gives that
// row a loss and a gradient of NaN.
absl::Status CrossEntropy(const Stream& stream, const CrossEntropyArgs& args);

}  // namespace octet::models

#endif  // OCTET_MODELS_LAYERS_CROSS_ENTROPY_H_
