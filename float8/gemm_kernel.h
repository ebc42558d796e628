// SPDX-License-Identifier: Apache-2.0

// Where a device's scaled matrix multiplication is found.
#ifndef OCTET_FLOAT8_GEMM_KERNEL_H_
#define OCTET_FLOAT8_GEMM_KERNEL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/gemm.h"

namespace octet::float8::internal {

// Checked: shapes fit, m and n are not 0 (k may be), leading dimensions are
// set, float8 operands have scales that can be taken out of a sum, and all
// lies on the stream's device.
struct GemmArguments {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  GemmOperand a;
  GemmOperand b;
  GemmOptions options;
  TensorView out;
};

using GemmKernel = absl::Status(const Stream& stream,
                                const GemmArguments& arguments);

KernelSlot<GemmKernel>& GemmSlot();

absl::Status GemmCpu(const Stream& stream, const GemmArguments& arguments);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_GEMM_KERNEL_H_
