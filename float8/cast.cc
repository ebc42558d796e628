// SPDX-License-Identifier: Apache-2.0
#include "float8/cast.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "float8/cast_kernel.h"

namespace octet::float8 {
namespace internal {

KernelSlot<CastKernel>& CastSlot() {
  static KernelSlot<CastKernel> slot("//float8:cast_cuda", &CastCpu);
  return slot;
}

KernelSlot<CastWithScaleKernel>& CastWithScaleSlot() {
  static KernelSlot<CastWithScaleKernel> slot("//float8:cast_cuda",
                                              &CastWithScaleCpu);
  return slot;
}

KernelSlot<DequantizeKernel>& DequantizeSlot() {
  static KernelSlot<DequantizeKernel> slot("//float8:cast_cuda",
                                           &DequantizeCpu);
  return slot;
}

}  // namespace internal

namespace {

bool IsHighPrecision(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBf16 || dtype == DType::kF16;
}

absl::Status CheckDevice(const Stream& stream, absl::string_view what,
                         const TensorView& view) {
  if (view.device() == stream.device()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cast: ", what, " is ", view.ToString(),
                   ", the stream is on ", stream.device().ToString()));
}

absl::Status CheckInput(const Stream& stream, const TensorView& in,
                        const CastPlan& plan) {
  if (!IsFloat8(plan.dtype) || plan.dtype == DType::kF8E8M0) {
    return absl::InvalidArgumentError(absl::StrCat("cast: the plan's dtype is ",
                                                   Name(plan.dtype),
                                                   ", not f8_e4m3 or f8_e5m2"));
  }
  if (!IsHighPrecision(in.dtype())) {
    return absl::InvalidArgumentError(
        absl::StrCat("cast: in is ", in.ToString(), ", not f32, bf16 or f16"));
  }
  return CheckDevice(stream, "in", in);
}

absl::Status CheckScale(const Stream& stream, absl::string_view what,
                        const TensorView& scale, Granularity granularity,
                        const TensorView& matrix) {
  const Shape shape = ScaleShape(granularity, matrix.rows(), matrix.cols());
  if (scale.dtype() != DType::kF32 || scale.shape() != shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cast: ", what, " is ", scale.ToString(), ", but ", Name(granularity),
        " of ", matrix.ToString(), " needs f32 ", shape.ToString()));
  }
  return CheckDevice(stream, what, scale);
}

absl::Status Fit(DType dtype, const Shape& shape, Device device,
                 Tensor* tensor) {
  const TensorView& view = tensor->view();
  if (view.data() != nullptr && view.dtype() == dtype &&
      view.shape() == shape && view.device() == device) {
    return absl::OkStatus();
  }
  OCTET_ASSIGN_OR_RETURN(*tensor, Tensor::Allocate(dtype, shape, device));
  return absl::OkStatus();
}

absl::Status FitOutput(const TensorView& in, const CastPlan& plan,
                       Quantized* out) {
  OCTET_RETURN_IF_ERROR(Fit(plan.dtype, in.shape(), in.device(), &out->data));
  OCTET_RETURN_IF_ERROR(Fit(DType::kF32,
                            ScaleShape(plan.granularity, in.rows(), in.cols()),
                            in.device(), &out->scale));
  out->plan = plan;
  return absl::OkStatus();
}

}  // namespace

absl::Status Cast(const Stream& stream, const TensorView& in,
                  const CastPlan& plan, Quantized* out) {
  OCTET_RETURN_IF_ERROR(CheckInput(stream, in, plan));
  OCTET_ASSIGN_OR_RETURN(internal::CastKernel* const kernel,
                         internal::CastSlot().Get(stream.device()));
  OCTET_RETURN_IF_ERROR(FitOutput(in, plan, out));
  return kernel(stream, in, plan, out->data, out->scale);
}

absl::Status CastWithScale(const Stream& stream, const TensorView& in,
                           const TensorView& scale, const CastPlan& plan,
                           const TensorView& amax, Quantized* out) {
  OCTET_RETURN_IF_ERROR(CheckInput(stream, in, plan));
  OCTET_RETURN_IF_ERROR(
      CheckScale(stream, "scale", scale, plan.granularity, in));
  if (amax.data() != nullptr) {
    OCTET_RETURN_IF_ERROR(
        CheckScale(stream, "amax", amax, plan.granularity, in));
  }
  OCTET_ASSIGN_OR_RETURN(internal::CastWithScaleKernel* const kernel,
                         internal::CastWithScaleSlot().Get(stream.device()));
  const bool own_scale = scale.data() == out->scale.view().data();
  OCTET_RETURN_IF_ERROR(FitOutput(in, plan, out));
  if (!own_scale) OCTET_RETURN_IF_ERROR(Copy(stream, scale, out->scale));
  return kernel(stream, in, out->scale, plan, amax, out->data);
}

absl::Status Dequantize(const Stream& stream, const Quantized& in,
                        const TensorView& out) {
  const TensorView& data = in.data;
  if (!IsFloat8(data.dtype()) || data.dtype() == DType::kF8E8M0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dequantize: data is ", data.ToString(), ", not f8_e4m3 or f8_e5m2"));
  }
  if (!IsHighPrecision(out.dtype()) || out.shape() != data.shape()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dequantize: out is ", out.ToString(), ", data is ", data.ToString()));
  }
  OCTET_RETURN_IF_ERROR(CheckDevice(stream, "data", data));
  OCTET_RETURN_IF_ERROR(CheckDevice(stream, "out", out));
  OCTET_RETURN_IF_ERROR(
      CheckScale(stream, "scale", in.scale, in.plan.granularity, data));
  OCTET_ASSIGN_OR_RETURN(internal::DequantizeKernel* const kernel,
                         internal::DequantizeSlot().Get(stream.device()));
  return kernel(stream, data, in.scale, in.plan.granularity, out);
}

}  // namespace octet::float8
