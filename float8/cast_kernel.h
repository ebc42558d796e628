// SPDX-License-Identifier: Apache-2.0

// What a device's cast kernels look like. Their callers have checked the
// arguments and allocated the outputs: everything is on the stream's device and
// has the shape that cast.h gives. Sizes may be 0; scales must be written even
// then.
#ifndef OCTET_FLOAT8_CAST_KERNEL_H_
#define OCTET_FLOAT8_CAST_KERNEL_H_

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/scaling.h"

namespace octet::float8::internal {

// Writes data and scale.
using CastKernel = absl::Status(const Stream& stream, const TensorView& in,
                                const CastPlan& plan, const TensorView& data,
                                const TensorView& scale);
KernelSlot<CastKernel>& CastSlot();
absl::Status CastCpu(const Stream& stream, const TensorView& in,
                     const CastPlan& plan, const TensorView& data,
                     const TensorView& scale);

// Reads scale; writes data, and amax unless that is absent.
using CastWithScaleKernel = absl::Status(
    const Stream& stream, const TensorView& in, const TensorView& scale,
    const CastPlan& plan, const TensorView& amax, const TensorView& data);
KernelSlot<CastWithScaleKernel>& CastWithScaleSlot();
absl::Status CastWithScaleCpu(const Stream& stream, const TensorView& in,
                              const TensorView& scale, const CastPlan& plan,
                              const TensorView& amax, const TensorView& data);

// Reads data and scale; writes out.
using DequantizeKernel = absl::Status(const Stream& stream,
                                      const TensorView& data,
                                      const TensorView& scale,
                                      Granularity granularity,
                                      const TensorView& out);
KernelSlot<DequantizeKernel>& DequantizeSlot();
absl::Status DequantizeCpu(const Stream& stream, const TensorView& data,
                           const TensorView& scale, Granularity granularity,
                           const TensorView& out);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CAST_KERNEL_H_
