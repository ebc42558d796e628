// SPDX-License-Identifier: Apache-2.0

// What a device's cast kernels look like. Their callers have checked the
// arguments and allocated the outputs: everything is on the stream's device and
// has the shape that cast.h gives. Sizes may be 0; scales must be written even
// then.
#ifndef OCTET_FLOAT8_CAST_KERNEL_H_
#define OCTET_FLOAT8_CAST_KERNEL_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/cast.h"
#include "float8/scaling.h"

namespace octet::float8::internal {

// One quantisation of a matrix: what Quantized holds. Absent views are not
// wanted; a GPU's reciprocals are absent on the CPU and for tiles without any.
struct CastForm {
  CastPlan plan;
  TensorView data;
  TensorView transposed;
  TensorView scale;
  TensorView reciprocal;
  TensorView transposed_reciprocal;
};

// Dynamic scaling, in one or two forms. Writes all that is present; of the
// options, reads known_amax (with one form only) and writes column_sum.
using CastKernel = absl::Status(const Stream& stream, const TensorView& in,
                                absl::Span<const CastForm> forms,
                                const CastOptions& options);
KernelSlot<CastKernel>& CastSlot();
absl::Status CastCpu(const Stream& stream, const TensorView& in,
                     absl::Span<const CastForm> forms,
                     const CastOptions& options);

// Reads form.scale and writes the rest; of the options, writes seen_amax and
// column_sum.
using CastWithScaleKernel = absl::Status(const Stream& stream,
                                         const TensorView& in,
                                         const CastForm& form,
                                         const CastOptions& options);
KernelSlot<CastWithScaleKernel>& CastWithScaleSlot();
absl::Status CastWithScaleCpu(const Stream& stream, const TensorView& in,
                              const CastForm& form, const CastOptions& options);

// Dynamic scaling of many matrices. There is at least one.
struct CastItem {
  TensorView in;
  CastForm form;
};
using CastManyKernel = absl::Status(const Stream& stream,
                                    absl::Span<const CastItem> items);
KernelSlot<CastManyKernel>& CastManySlot();
absl::Status CastManyCpu(const Stream& stream,
                         absl::Span<const CastItem> items);

// Reads one form of the bytes and the scale; writes out.
using DequantizeKernel = absl::Status(const Stream& stream,
                                      const CastForm& form,
                                      const TensorView& out);
KernelSlot<DequantizeKernel>& DequantizeSlot();
absl::Status DequantizeCpu(const Stream& stream, const CastForm& form,
                           const TensorView& out);

// Views of a Quantized whose tensors are allocated.
CastForm FormOf(const Quantized& q);

// InvalidArgument unless `in` can be cast by `plan` on the stream's device.
absl::Status CheckCastInput(const Stream& stream, const TensorView& in,
                            const CastPlan& plan);

// Allocates the tensors of a [rows, cols] matrix in `out` unless they fit.
absl::Status FitQuantized(const TensorView& in, const CastPlan& plan,
                          CastLayout layout, Quantized* out);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CAST_KERNEL_H_
