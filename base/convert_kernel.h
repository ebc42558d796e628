// SPDX-License-Identifier: Apache-2.0

// The place of Convert's kernels; see base/convert.h.
#ifndef OCTET_BASE_CONVERT_KERNEL_H_
#define OCTET_BASE_CONVERT_KERNEL_H_

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::internal {

// Arguments are checked: dtypes differ and are one of the pairs of convert.h.
using ConvertKernel = absl::Status(const Stream& stream, const TensorView& from,
                                   const TensorView& to);

KernelSlot<ConvertKernel>& ConvertSlot();

absl::Status ConvertCpu(const Stream& stream, const TensorView& from,
                        const TensorView& to);

}  // namespace octet::internal

#endif  // OCTET_BASE_CONVERT_KERNEL_H_
