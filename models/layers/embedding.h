// SPDX-License-Identifier: Apache-2.0

// Token embedding: rows of a table.
//
//   tokens [tokens] i32, table and its gradient [vocab, hidden]
//   x, dx [tokens, hidden], f32, bf16 or f64, as the table
//
// Forward overwrites x. Backward accumulates into dtable, f32 or bf16 (f64 for
// f64), in f32 and in the order of the tokens, each of its elements rounded to
// bf16 once: the same tokens give the same bits with any number of threads, and
// on any device.
//
// Queued on `stream`, which names the device; views must outlive the work. On a
// GPU, which does not stop for it, a token that is not in the vocabulary gives
// a row of NaN, and adds to no gradient.
#ifndef OCTET_MODELS_LAYERS_EMBEDDING_H_
#define OCTET_MODELS_LAYERS_EMBEDDING_H_

#include "absl/status/status.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::models {

// x[i] = table[tokens[i]]. OutOfRange, on the CPU, names the first token that
// is not in the vocabulary, and its position.
absl::Status EmbeddingForward(const Stream& stream, const TensorView& tokens,
                              const TensorView& table, const TensorView& x);

// dtable[tokens[i]] += dx[i]. On the CPU, tokens must have passed forward's
// check.
absl::Status EmbeddingBackward(const Stream& stream, const TensorView& tokens,
                               const TensorView& dx, const TensorView& dtable);

}  // namespace octet::models

#endif  // OCTET_MODELS_LAYERS_EMBEDDING_H_
