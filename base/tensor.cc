// SPDX-License-Identifier: Apache-2.0
#include "base/tensor.h"

#include "absl/strings/str_cat.h"
#include "base/device_runtime.h"
#include "base/status_macros.h"

namespace octet {

TensorView TensorView::Reshaped(const Shape& shape) const {
  return TensorView(data_, dtype_, shape, device_);
}

TensorView TensorView::RowSlice(int64_t begin, int64_t count) const {
  char* first = as<char>() + begin * cols() * SizeOf(dtype_);
  return TensorView(first, dtype_, Shape({count, cols()}), device_);
}

std::string TensorView::ToString() const {
  return absl::StrCat(Name(dtype_), " ", shape_.ToString(), " on ",
                      device_.ToString());
}

void Tensor::Deleter::operator()(void* data) const {
  const absl::StatusOr<const DeviceRuntime*> runtime =
      GetDeviceRuntime(device.kind);
  if (runtime.ok()) (*runtime)->free(device.index, data);
}

absl::StatusOr<Tensor> Tensor::Allocate(DType dtype, const Shape& shape,
                                        Device device) {
  OCTET_ASSIGN_OR_RETURN(const Shape checked, Shape::FromDims(shape.dims()));
  OCTET_ASSIGN_OR_RETURN(const int64_t bytes,
                         CheckedProduct(checked.num_elements(), SizeOf(dtype)));
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(device.kind));
  OCTET_ASSIGN_OR_RETURN(void* data, runtime->allocate(device.index, bytes));
  Tensor tensor;
  tensor.owner_ = std::unique_ptr<void, Deleter>(data, Deleter{device});
  tensor.view_ = TensorView(data, dtype, shape, device);
  return tensor;
}

absl::StatusOr<Tensor> Tensor::Zeros(const Stream& stream, DType dtype,
                                     const Shape& shape) {
  OCTET_ASSIGN_OR_RETURN(Tensor tensor,
                         Allocate(dtype, shape, stream.device()));
  OCTET_RETURN_IF_ERROR(FillZero(stream, tensor));
  return tensor;
}

absl::Status CheckArgument(const Stream& stream, absl::string_view operation,
                           absl::string_view name, const TensorView& view) {
  if (!view.present()) {
    return absl::InvalidArgumentError(
        absl::StrCat(operation, ": ", name, " is absent"));
  }
  if (view.device() != stream.device()) {
    return absl::InvalidArgumentError(
        absl::StrCat(operation, ": ", name, " is ", view.ToString(),
                     ", the stream is on ", stream.device().ToString()));
  }
  if (view.data() == nullptr && view.num_elements() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(operation, ": ", name, " has no memory, it is ",
                     view.ToString(), " at null"));
  }
  return absl::OkStatus();
}

absl::Status Copy(const Stream& stream, const TensorView& from,
                  const TensorView& to) {
  if (from.shape() != to.shape() || from.dtype() != to.dtype()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "copy: from is ", from.ToString(), ", to is ", to.ToString()));
  }
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(stream.device().kind));
  return runtime->copy(stream.device().index, stream.native(), from.data(),
                       to.data(), from.num_bytes());
}

absl::Status FillZero(const Stream& stream, const TensorView& out) {
  if (out.device() != stream.device()) {
    return absl::InvalidArgumentError(
        absl::StrCat("fill: out is ", out.ToString(), ", the stream is on ",
                     stream.device().ToString()));
  }
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(stream.device().kind));
  return runtime->fill(stream.device().index, stream.native(), out.data(), 0,
                       out.num_bytes());
}

}  // namespace octet
