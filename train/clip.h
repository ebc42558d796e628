// SPDX-License-Identifier: Apache-2.0

// Clipping gradients by their global L2 norm.
//
// Sums are in double over fixed pieces, added in their order, so the result
// does not depend on the number of threads; devices differ in the last bits of
// it. A NaN or infinite gradient gives a
// non-finite norm, which ClipCoefficient refuses: scaling would hide it.
#ifndef OCTET_TRAIN_CLIP_H_
#define OCTET_TRAIN_CLIP_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::train {

// Sum of squares of all elements of f32 and bf16 tensors on the stream's
// device, to out, f64 [1]: there, queued on the stream, or on the CPU, in which
// case it waits for the stream. Over ranks, sum this, then take the root.
// InvalidArgument for another dtype or device.
absl::Status SumOfSquares(const Stream& stream,
                          absl::Span<const TensorView> tensors,
                          const TensorView& out);

// The same as a number: waits for the stream.
absl::StatusOr<double> SumOfSquares(const Stream& stream,
                                    absl::Span<const TensorView> tensors);

// min(1, max_norm / (norm + 1e-6)), as in PyTorch's clip_grad_norm_; 1 for
// max_norm = 0, which stands for no clipping. OutOfRange, with the norm, if it
// is not finite.
absl::StatusOr<double> ClipCoefficient(double norm, double max_norm);

using SumOfSquaresKernel = absl::Status(const Stream& stream,
                                        absl::Span<const TensorView> tensors,
                                        const TensorView& out);
// Where //train:cuda registers.
KernelSlot<SumOfSquaresKernel>& SumOfSquaresSlot();

}  // namespace octet::train

#endif  // OCTET_TRAIN_CLIP_H_
