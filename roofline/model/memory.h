// SPDX-License-Identifier: Apache-2.0

// The peak memory of a GPU in a training step, by kind.
#ifndef OCTET_ROOFLINE_MODEL_MEMORY_H_
#define OCTET_ROOFLINE_MODEL_MEMORY_H_

#include "roofline/model/job.h"

namespace octet::roofline {

// Bytes. Of the states a GPU has its slice.
struct ModelMemory {
  double master = 0;     // weights, as the optimizer has them
  double moments = 0;    // two of Adam
  double gradients = 0;  // reduced
  // What is multiplied: of one GPU all weights (float8 in both forms, or bf16),
  // of a slice two gathered blocks, the head and two blocks' gradients.
  double weights = 0;
  double activations = 0;  // kept from forward, and of one block in work
  double logits = 0;       // a chunk in bf16 and f32
  double runtime = 0;      // context, libraries, workspaces: 1.5 GiB

  double total() const {
    return master + moments + gradients + weights + activations + logits +
           runtime;
  }
};

// Bytes that one token keeps in one block from forward to backward.
double ActivationBytes(const ModelShape& shape, bool is_float8);

ModelMemory EstimateModelMemory(const ModelShape& shape, const ModelJob& job);

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_MODEL_MEMORY_H_
