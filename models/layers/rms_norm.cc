// SPDX-License-Identifier: Apache-2.0
#include "models/layers/rms_norm.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/layers/checks.h"
#include "models/layers/rms_norm_kernel.h"

namespace octet::models {
namespace internal {

KernelSlot<RmsNormForwardKernel>& RmsNormForwardSlot() {
  static KernelSlot<RmsNormForwardKernel> slot("//models/layers:rms_norm_cuda",
                                               &RmsNormForwardCpu);
  return slot;
}

KernelSlot<RmsNormBackwardKernel>& RmsNormBackwardSlot() {
  static KernelSlot<RmsNormBackwardKernel> slot("//models/layers:rms_norm_cuda",
                                                &RmsNormBackwardCpu);
  return slot;
}

absl::Status CheckRmsNormForward(const Stream& stream,
                                 RmsNormForwardArgs* args) {
  const TensorView& residual = args->residual;
  const auto check = [&](absl::string_view name, const TensorView& view,
                         DType dtype, const Shape& shape) {
    return CheckTensor(stream, {"rms_norm", name, view}, dtype, shape);
  };
  OCTET_RETURN_IF_ERROR(CheckActivation({"rms_norm", "residual", residual}));
  const DType dtype = residual.dtype();
  const Shape shape({residual.rows(), residual.cols()});
  OCTET_RETURN_IF_ERROR(check("residual", residual, dtype, shape));
  OCTET_RETURN_IF_ERROR(
      check("weight", args->weight, dtype, Shape({residual.cols()})));
  if (args->y.present())
    OCTET_RETURN_IF_ERROR(check("y", args->y, dtype, shape));
  OCTET_RETURN_IF_ERROR(
      check("rstd", args->rstd, StatisticOf(dtype), Shape({residual.rows()})));
  OCTET_RETURN_IF_ERROR(
      CheckAmax(stream, {"rms_norm", "amax", args->amax}, dtype));
  if (args->delta.present()) {
    OCTET_RETURN_IF_ERROR(check("delta", args->delta, dtype, shape));
    return check("x", args->x, dtype, shape);
  }
  if (args->x.present()) {
    return absl::InvalidArgumentError(
        absl::StrCat("rms_norm: x is ", args->x.ToString(),
                     " but there is no delta to add"));
  }
  args->x = residual;
  return absl::OkStatus();
}

}  // namespace internal

absl::Status RmsNormForward(const Stream& stream,
                            const RmsNormForwardArgs& args) {
  RmsNormForwardArgs whole = args;
  OCTET_RETURN_IF_ERROR(internal::CheckRmsNormForward(stream, &whole));
  OCTET_RETURN_IF_ERROR(internal::CheckTensor(
      stream, {"rms_norm", "y", args.y}, args.residual.dtype(),
      Shape({args.residual.rows(), args.residual.cols()})));
  OCTET_ASSIGN_OR_RETURN(auto* kernel,
                         internal::RmsNormForwardSlot().Get(stream.device()));
  return kernel(stream, whole);
}

absl::Status RmsNormBackward(const Stream& stream,
                             const RmsNormBackwardArgs& args) {
  const auto check = [&](absl::string_view name, const TensorView& view,
                         DType dtype, const Shape& shape) {
    return internal::CheckTensor(stream, {"rms_norm", name, view}, dtype,
                                 shape);
  };
  OCTET_RETURN_IF_ERROR(internal::CheckActivation({"rms_norm", "x", args.x}));
  const DType dtype = args.x.dtype();
  const DType statistic = internal::StatisticOf(dtype);
  const Shape shape({args.x.rows(), args.x.cols()});
  const Shape row({args.x.cols()});
  OCTET_RETURN_IF_ERROR(check("x", args.x, dtype, shape));
  OCTET_RETURN_IF_ERROR(check("weight", args.weight, dtype, row));
  OCTET_RETURN_IF_ERROR(
      check("rstd", args.rstd, statistic, Shape({args.x.rows()})));
  OCTET_RETURN_IF_ERROR(check("dy", args.dy, dtype, shape));
  OCTET_RETURN_IF_ERROR(check("dx", args.dx, dtype, shape));
  OCTET_RETURN_IF_ERROR(check("dweight", args.dweight, statistic, row));
  OCTET_RETURN_IF_ERROR(internal::CheckAmax(
      stream, {"rms_norm", "dx_amax", args.dx_amax}, dtype));
  OCTET_ASSIGN_OR_RETURN(auto* kernel,
                         internal::RmsNormBackwardSlot().Get(stream.device()));
  return kernel(stream, args);
}

}  // namespace octet::models
