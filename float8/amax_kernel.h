// SPDX-License-Identifier: Apache-2.0

// What a device's amax kernel looks like. Amax has checked the arguments: `in`
// is f32, bf16 or f16, `out` is f32 of ScaleShape(granularity, in.rows(),
// in.cols()), both on the stream's device. Sizes may be 0, and out must be
// written even then.
#ifndef OCTET_FLOAT8_AMAX_KERNEL_H_
#define OCTET_FLOAT8_AMAX_KERNEL_H_

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/amax.h"
#include "float8/scaling.h"

namespace octet::float8::internal {

using AmaxKernel = absl::Status(const Stream& stream, const TensorView& in,
                                Granularity granularity, const TensorView& out,
                                const AmaxOptions& options);

KernelSlot<AmaxKernel>& AmaxSlot();

absl::Status AmaxCpu(const Stream& stream, const TensorView& in,
                     Granularity granularity, const TensorView& out,
                     const AmaxOptions& options = {});

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_AMAX_KERNEL_H_
