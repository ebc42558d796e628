// SPDX-License-Identifier: Apache-2.0

// Gradients where activations were.
//
// Backward goes from the last block to the first; when it writes a block's
// gradients, the activations of the blocks after it are of no more use. So the
// gradients of blocks can lie over them, and only for the last ones is there
// more memory needed: without gradient accumulation, as the next forward pass
// overwrites them.
#ifndef OCTET_MODELS_LLAMA_GRADIENT_OVERLAY_H_
#define OCTET_MODELS_LLAMA_GRADIENT_OVERLAY_H_

#include <cstdint>
#include <map>
#include <string>

#include "base/dtype.h"
#include "base/tensor.h"
#include "models/llama/activations.h"
#include "models/llama/config.h"

namespace octet::models {

struct GradientOverlay {
  // Of activations and gradients together; the activations come first.
  int64_t bytes = 0;
  // Where the gradients of the blocks' matrices begin, by parameter.
  std::map<std::string, int64_t> offsets;
};

GradientOverlay OverlayGradients(const LlamaConfig& config,
                                 const ActivationLayout& activations,
                                 DType gradient_dtype);

// The gradients in `memory` of overlay.bytes, 256-byte aligned, for
// fsdp::WholeParamStoreOptions.
std::map<std::string, TensorView> GradientViews(const LlamaConfig& config,
                                                const GradientOverlay& overlay,
                                                DType gradient_dtype,
                                                const TensorView& memory);

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_GRADIENT_OVERLAY_H_
