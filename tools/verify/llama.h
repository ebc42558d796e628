// SPDX-License-Identifier: Apache-2.0

// Compares the model with a folder that transformers wrote: config.json, the
// weights, and expected.safetensors with
//
//   tokens [steps, batch, length + 1] i32; inputs are all but the last column,
//   targets all but the first
//   logits, loss, grad.PARAMETER: of tokens[0] and the weights as loaded
//   adamw.{loss, grad_norm} [steps] and adamw.final.PARAMETER: one AdamW step
//   for each of tokens, lr 1e-3, betas 0.9 and 0.95, eps 1e-8, weight decay 0.1
//   on every parameter, gradients clipped to a global norm of 1
//
// All in f32 on the stream's device, by the high-precision recipe.
#ifndef OCTET_TOOLS_VERIFY_LLAMA_H_
#define OCTET_TOOLS_VERIFY_LLAMA_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/stream.h"
#include "tools/verify/report.h"

namespace octet::tools {

// Tensors to 1e-4 and norms to 1e-4, relative; losses to 1e-5. An error is a
// folder that cannot be read or that lacks a tensor.
absl::StatusOr<VerifyReport> VerifyLlama(const Stream& stream,
                                         const std::string& folder);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_VERIFY_LLAMA_H_
