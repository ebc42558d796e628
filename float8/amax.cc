// SPDX-License-Identifier: Apache-2.0
#include "float8/amax.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "float8/amax_kernel.h"

namespace octet::float8 {
namespace internal {

KernelSlot<AmaxKernel>& AmaxSlot() {
  static KernelSlot<AmaxKernel> slot("//float8:amax_cuda", &AmaxCpu);
  return slot;
}

}  // namespace internal

absl::Status Amax(const Stream& stream, const TensorView& in,
                  Granularity granularity, const TensorView& out,
                  const AmaxOptions& options) {
  if (!IsHighPrecision(in.dtype())) {
    return absl::InvalidArgumentError(
        absl::StrCat("amax: in is ", in.ToString(), ", not f32, bf16 or f16"));
  }
  const Shape shape = ScaleShape(granularity, in.rows(), in.cols());
  if (out.dtype() != DType::kF32 || out.shape() != shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        "amax: out is ", out.ToString(), ", but ", Name(granularity), " of in ",
        in.ToString(), " needs f32 ", shape.ToString()));
  }
  OCTET_RETURN_IF_ERROR(CheckArgument(stream, "amax", "in", in));
  OCTET_RETURN_IF_ERROR(CheckArgument(stream, "amax", "out", out));
  OCTET_ASSIGN_OR_RETURN(internal::AmaxKernel* const kernel,
                         internal::AmaxSlot().Get(stream.device()));
  return kernel(stream, in, granularity, out, options);
}

}  // namespace octet::float8
