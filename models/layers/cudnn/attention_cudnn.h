// SPDX-License-Identifier: Apache-2.0

// cuDNN's attention, which attention_cuda.h's choice asks first.
//
// For bf16, heads of a multiple of 8 elements up to 128, tensors at multiples
// of 16 bytes. The first call for a problem builds its plan, which takes a
// moment and is kept until the process ends; later ones queue kernels and
// nothing else. FailedPrecondition if the first one is in a graph's capture.
//
// Backward's scratch is what it needs for whole heads: dk and dv of each query
// head, 4 head_dim bytes a token, and either dq in f32, as much again, or, if
// deterministic, the gradients of all scores of the heads that are taken at a
// time: 128 MiB for each with 8192 tokens, growing with the square.
#ifndef OCTET_MODELS_LAYERS_CUDNN_ATTENTION_CUDNN_H_
#define OCTET_MODELS_LAYERS_CUDNN_ATTENTION_CUDNN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "models/layers/attention_kernel.h"

namespace octet::models::internal {

// As CUDNN_VERSION counts: 91900. Unimplemented if libcudnn.so.9 cannot be
// loaded, with the loader's reason.
absl::StatusOr<int64_t> LoadedCudnnVersion();

// Unimplemented, with nothing queued, for what cuDNN does not take, or should
// not: see kTailNanFixed in attention_cudnn.cc.
AttentionForwardKernel AttentionForwardCudnn;
AttentionBackwardKernel AttentionBackwardCudnn;

// The same, also where NaN may be.
AttentionBackwardKernel AttentionBackwardCudnnUnguarded;

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDNN_ATTENTION_CUDNN_H_
