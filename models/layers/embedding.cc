// SPDX-License-Identifier: Apache-2.0
#include "models/layers/embedding.h"

#include "base/status_macros.h"
#include "models/layers/checks.h"
#include "models/layers/embedding_kernel.h"

namespace octet::models {
namespace internal {

KernelSlot<EmbeddingKernel>& EmbeddingForwardSlot() {
  static KernelSlot<EmbeddingKernel> slot("//models/layers:embedding_cuda",
                                          &EmbeddingForwardCpu);
  return slot;
}

KernelSlot<EmbeddingKernel>& EmbeddingBackwardSlot() {
  static KernelSlot<EmbeddingKernel> slot("//models/layers:embedding_cuda",
                                          &EmbeddingBackwardCpu);
  return slot;
}

}  // namespace internal

absl::Status EmbeddingForward(const Stream& stream, const TensorView& tokens,
                              const TensorView& table, const TensorView& x) {
  using internal::CheckTensor;
  OCTET_RETURN_IF_ERROR(
      internal::CheckActivation({"embedding", "table", table}));
  OCTET_RETURN_IF_ERROR(CheckTensor(stream, {"embedding", "tokens", tokens},
                                    DType::kI32,
                                    Shape({tokens.num_elements()})));
  OCTET_RETURN_IF_ERROR(CheckTensor(stream, {"embedding", "table", table},
                                    table.dtype(),
                                    Shape({table.rows(), table.cols()})));
  OCTET_RETURN_IF_ERROR(
      CheckTensor(stream, {"embedding", "x", x}, table.dtype(),
                  Shape({tokens.num_elements(), table.cols()})));
  OCTET_ASSIGN_OR_RETURN(auto* kernel,
                         internal::EmbeddingForwardSlot().Get(stream.device()));
  return kernel(stream, tokens, table, x);
}

absl::Status EmbeddingBackward(const Stream& stream, const TensorView& tokens,
                               const TensorView& dx, const TensorView& dtable) {
  using internal::CheckTensor;
  OCTET_RETURN_IF_ERROR(internal::CheckActivation({"embedding", "dx", dx}));
  OCTET_RETURN_IF_ERROR(CheckTensor(stream, {"embedding", "tokens", tokens},
                                    DType::kI32,
                                    Shape({tokens.num_elements()})));
  OCTET_RETURN_IF_ERROR(CheckTensor(stream, {"embedding", "dx", dx}, dx.dtype(),
                                    Shape({tokens.num_elements(), dx.cols()})));
  const bool is_bf16 =
      dtable.dtype() == DType::kBf16 && dx.dtype() != DType::kF64;
  OCTET_RETURN_IF_ERROR(
      CheckTensor(stream, {"embedding", "dtable", dtable},
                  is_bf16 ? DType::kBf16 : internal::StatisticOf(dx.dtype()),
                  Shape({dtable.rows(), dx.cols()})));
  OCTET_ASSIGN_OR_RETURN(
      auto* kernel, internal::EmbeddingBackwardSlot().Get(stream.device()));
  return kernel(stream, tokens, dx, dtable);
}

}  // namespace octet::models
