// SPDX-License-Identifier: Apache-2.0

// What the layers' CUDA leaves share: from tensors and streams to pointers.
#ifndef OCTET_MODELS_LAYERS_LAYERS_CUDA_H_
#define OCTET_MODELS_LAYERS_LAYERS_CUDA_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "models/layers/cuda/rms_norm_kernel.h"
#include "models/layers/rms_norm.h"

namespace octet::models::internal {

cudaStream_t NativeOf(const Stream& stream);

// Makes the stream's device the thread's current one.
absl::Status SetDevice(const Stream& stream);

// Unimplemented, naming the layer, for what is neither f32 nor bf16.
absl::StatusOr<ElementType> ElementTypeOf(absl::string_view layer,
                                          const TensorView& view);

// The stream's counters if `wanted`, else null.
absl::StatusOr<unsigned*> CountersOf(const Stream& stream, bool wanted);

// An amax of nothing is 0; absent: nothing to do.
absl::Status ZeroAmax(const Stream& stream, const TensorView& amax);

// x and y may be absent.
absl::StatusOr<RmsNormForwardProblem> RmsNormForwardProblemOf(
    const Stream& stream, const RmsNormForwardArgs& args);

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_LAYERS_CUDA_H_
