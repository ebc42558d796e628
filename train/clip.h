// SPDX-License-Identifier: Apache-2.0

// Clipping gradients by their global L2 norm.
//
// Sums are in double over fixed pieces, added in their order, so the result
// does not depend on the number of threads. A NaN or infinite gradient gives a
// non-finite norm, which ClipCoefficient refuses: scaling would hide it.
#ifndef OCTET_TRAIN_CLIP_H_
#define OCTET_TRAIN_CLIP_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::train {

// Sum of squares of all elements of f32 tensors on the stream's device. Waits
// for the stream. Over ranks, sum this, then take the root.
absl::StatusOr<double> SumOfSquares(const Stream& stream,
                                    absl::Span<const TensorView> tensors);

// min(1, max_norm / (norm + 1e-6)), as in PyTorch's clip_grad_norm_; 1 for
// max_norm = 0, which stands for no clipping. OutOfRange, with the norm, if it
// is not finite.
absl::StatusOr<double> ClipCoefficient(double norm, double max_norm);

using SumOfSquaresKernel = absl::StatusOr<double>(
    const Stream& stream, absl::Span<const TensorView> tensors);
// Where //train:clip_cuda registers.
KernelSlot<SumOfSquaresKernel>& SumOfSquaresSlot();

}  // namespace octet::train

#endif  // OCTET_TRAIN_CLIP_H_
