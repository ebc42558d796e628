// SPDX-License-Identifier: Apache-2.0

// Fills the sum of squares' slot for CUDA. Arguments were checked by clip.cc.
#include <cuda_runtime_api.h>

#include <vector>

#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "train/clip.h"
#include "train/cuda/sum_of_squares_kernel.h"

namespace octet::train {
namespace {

using float8::internal::ElementType;

absl::Status SumOfSquaresCuda(const Stream& stream,
                              absl::Span<const TensorView> tensors,
                              const TensorView& out) {
  std::vector<internal::SumOfSquaresTensor> list;
  int64_t pieces = 0;
  for (const TensorView& t : tensors) {
    list.push_back(
        {t.data(), t.num_elements(),
         t.dtype() == DType::kBf16 ? ElementType::kBf16 : ElementType::kF32});
    pieces += internal::SumOfSquaresPieces(t.num_elements());
  }
  OCTET_RETURN_IF_ERROR(
      CudaStatus(cudaSetDevice(stream.device().index), "cudaSetDevice"));
  // The sum, where it goes to the CPU, then those of the pieces.
  OCTET_ASSIGN_OR_RETURN(
      void* const scratch,
      stream.Scratch((pieces + 1) * static_cast<int64_t>(sizeof(double))));
  auto* const sum = static_cast<double*>(scratch);
  const bool is_queued = out.device() == stream.device();
  OCTET_RETURN_IF_ERROR(CudaStatus(
      internal::LaunchSumOfSquares(list.data(),
                                   static_cast<int64_t>(list.size()), sum + 1,
                                   is_queued ? out.as<double>() : sum,
                                   static_cast<cudaStream_t>(stream.native())),
      "sum of squares"));
  if (is_queued) return absl::OkStatus();
  OCTET_RETURN_IF_ERROR(Copy(
      stream, TensorView(sum, DType::kF64, Shape({1}), stream.device()), out));
  return stream.Synchronize();
}

[[maybe_unused]] const bool kRegistered =
    SumOfSquaresSlot().Register(DeviceKind::kCuda, &SumOfSquaresCuda);

}  // namespace
}  // namespace octet::train
