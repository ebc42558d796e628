// SPDX-License-Identifier: Apache-2.0

// Fills the embedding's slots for CUDA. Arguments were checked by embedding.cc.
#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "models/layers/cuda/embedding_kernel.h"
#include "models/layers/embedding_kernel.h"
#include "models/layers/layers_cuda.h"

namespace octet::models::internal {
namespace {

absl::Status EmbeddingForwardCuda(const Stream& stream,
                                  const TensorView& tokens,
                                  const TensorView& table,
                                  const TensorView& x) {
  EmbeddingForwardProblem problem;
  OCTET_ASSIGN_OR_RETURN(problem.type, ElementTypeOf("embedding", table));
  if (x.num_elements() == 0) return absl::OkStatus();
  problem.tokens = tokens.num_elements();
  problem.vocab = table.rows();
  problem.hidden = table.cols();
  problem.ids = tokens.as<int32_t>();
  problem.table = table.data();
  problem.x = x.data();
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  return CudaStatus(LaunchEmbeddingForward(problem, NativeOf(stream)),
                    absl::StrCat("embedding of ", x.ToString()));
}

absl::Status EmbeddingBackwardCuda(const Stream& stream,
                                   const TensorView& tokens,
                                   const TensorView& dx,
                                   const TensorView& dtable) {
  EmbeddingBackwardProblem problem;
  OCTET_ASSIGN_OR_RETURN(problem.dx_type, ElementTypeOf("embedding", dx));
  OCTET_ASSIGN_OR_RETURN(problem.dtable_type,
                         ElementTypeOf("embedding", dtable));
  if (dx.num_elements() == 0 || dtable.num_elements() == 0) {
    return absl::OkStatus();
  }
  problem.tokens = tokens.num_elements();
  problem.vocab = dtable.rows();
  problem.hidden = dtable.cols();
  problem.ids = tokens.as<int32_t>();
  problem.dx = dx.data();
  problem.dtable = dtable.data();
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  OCTET_ASSIGN_OR_RETURN(
      void* const places,
      stream.Scratch(2 * problem.vocab *
                     static_cast<int64_t>(sizeof(uint32_t))));
  problem.places = static_cast<uint32_t*>(places);
  return CudaStatus(LaunchEmbeddingBackward(problem, NativeOf(stream)),
                    absl::StrCat("embedding's gradient of ", dx.ToString()));
}

[[maybe_unused]] const bool kForward =
    EmbeddingForwardSlot().Register(DeviceKind::kCuda, &EmbeddingForwardCuda);
[[maybe_unused]] const bool kBackward =
    EmbeddingBackwardSlot().Register(DeviceKind::kCuda, &EmbeddingBackwardCuda);

}  // namespace
}  // namespace octet::models::internal
