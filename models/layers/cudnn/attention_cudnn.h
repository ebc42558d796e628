// SPDX-License-Identifier: Apache-2.0

// cuDNN's attention, which attention_cuda.h's choice asks first.
//
// For bf16, heads of a multiple of 8 elements up to 128, tensors at multiples
// of 16 bytes. The first call for a problem builds its plan, which takes a
// moment and is kept until the process ends; later ones queue kernels and
// nothing else. FailedPrecondition if the first one is in a graph's capture.
//
// Deterministic backward has a matrix of scores' gradients in scratch: 2 bytes
// a score for the query heads that it takes at a time, which is as many as fit
// into a budget, and at least those of one key head of one sequence: 0.5 GiB
// for 4 heads of 8192 tokens, growing with the square. What is not
// deterministic takes dq in f32 instead.
#ifndef OCTET_MODELS_LAYERS_CUDNN_ATTENTION_CUDNN_H_
#define OCTET_MODELS_LAYERS_CUDNN_ATTENTION_CUDNN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/layers/attention_kernel.h"

namespace octet::models::internal {

inline constexpr int64_t kAttentionScratchBudget = int64_t{1} << 30;

// As CUDNN_VERSION counts: 91900. Unimplemented if libcudnn.so.9 cannot be
// loaded, with the loader's reason.
absl::StatusOr<int64_t> LoadedCudnnVersion();

// Unimplemented, with nothing queued, for what cuDNN does not take, or should
// not: see kTailNanFixed in attention_cudnn.cc.
AttentionForwardKernel AttentionForwardCudnn;
AttentionBackwardKernel AttentionBackwardCudnn;

// The same with another budget, and also where NaN are known.
absl::Status AttentionBackwardCudnnUnguarded(const Stream& stream,
                                             const AttentionBackwardArgs& args,
                                             int64_t scratch_budget);

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDNN_ATTENTION_CUDNN_H_
