// SPDX-License-Identifier: Apache-2.0
#include "tools/amax_report.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/device.h"
#include "base/device_runtime.h"
#include "base/status_macros.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/amax.h"
#include "io/safetensors.h"

namespace octet::tools {
namespace {

// The amax of each tile of a tensor in host memory.
absl::StatusOr<std::vector<float>> AmaxOf(const Stream& stream,
                                          const TensorView& host,
                                          float8::Granularity granularity) {
  OCTET_ASSIGN_OR_RETURN(
      const Tensor in,
      Tensor::Allocate(host.dtype(), host.shape(), stream.device()));
  OCTET_RETURN_IF_ERROR(Copy(stream, host, in));
  const Shape shape = float8::ScaleShape(granularity, host.rows(), host.cols());
  OCTET_ASSIGN_OR_RETURN(const Tensor out,
                         Tensor::Allocate(DType::kF32, shape, stream.device()));
  OCTET_RETURN_IF_ERROR(float8::Amax(stream, in, granularity, out));
  std::vector<float> amax(shape.num_elements());
  const TensorView result(amax.data(), DType::kF32, shape);
  OCTET_RETURN_IF_ERROR(Copy(stream, out, result));
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  return amax;
}

std::string Line(absl::string_view name, const TensorView& view,
                 const std::vector<float>& amax) {
  int64_t zero = 0, not_finite = 0;
  float largest = 0.0f, smallest = INFINITY;
  for (const float a : amax) {
    if (!std::isfinite(a)) {
      ++not_finite;
      // What the tensor's own amax is: a NaN outranks an infinity.
      if (!std::isnan(largest)) largest = a;
    } else if (a == 0.0f) {
      ++zero;
    } else {
      if (largest < a) largest = a;
      smallest = std::min(smallest, a);
    }
  }
  return absl::StrFormat(
      "%9d  %12.6g  %12s  %9d  %9d  %-20s  %s\n", amax.size(), largest,
      std::isfinite(smallest) ? absl::StrFormat("%.6g", smallest) : "n/a", zero,
      not_finite,
      absl::StrCat(Name(view.dtype()), " ", view.shape().ToString()), name);
}

}  // namespace

absl::StatusOr<std::string> AmaxReport(const std::string& path,
                                       absl::string_view tensor,
                                       float8::Granularity granularity,
                                       absl::string_view device_name) {
  OCTET_ASSIGN_OR_RETURN(const io::SafetensorsFile file,
                         io::SafetensorsFile::Open(path));
  OCTET_ASSIGN_OR_RETURN(const Device device, ResolveDevice(device_name));
  OCTET_ASSIGN_OR_RETURN(const Stream stream, Stream::Create(device));
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(device.kind));
  OCTET_ASSIGN_OR_RETURN(const std::string description,
                         runtime->describe(device.index));
  std::string out =
      absl::StrCat("device ", device.ToString(), ": ", description, "\n");
  absl::StrAppendFormat(&out, "%9s  %12s  %12s  %9s  %9s  %-20s  %s\n", "tiles",
                        "largest", "smallest", "all zero", "NaN, Inf",
                        "dtype and shape", "tensor");
  std::vector<std::string> names = file.names();
  if (!tensor.empty()) names = {std::string(tensor)};
  int64_t left_out = 0;
  for (const std::string& name : names) {
    OCTET_ASSIGN_OR_RETURN(const TensorView view, file.Find(name));
    if (!IsHighPrecision(view.dtype())) {
      if (tensor.empty()) {
        ++left_out;
        continue;
      }
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": tensor ", name, " is ", Name(view.dtype()),
                       ", not f32, bf16 or f16"));
    }
    OCTET_ASSIGN_OR_RETURN(const std::vector<float> amax,
                           AmaxOf(stream, view, granularity));
    out += Line(name, view, amax);
  }
  if (left_out > 0) {
    absl::StrAppend(&out, left_out, " of ", names.size(),
                    " tensors are left out: not f32, bf16 or f16\n");
  }
  return out;
}

}  // namespace octet::tools
