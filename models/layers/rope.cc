// SPDX-License-Identifier: Apache-2.0
#include "models/layers/rope.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/layers/checks.h"
#include "models/layers/rope_kernel.h"

namespace octet::models {
namespace internal {

KernelSlot<RopeKernel>& RopeSlot() {
  static KernelSlot<RopeKernel> slot("//models/layers:rope_cuda", &RopeCpu);
  return slot;
}

}  // namespace internal

std::vector<double> RopeFrequencies(const RopeOptions& options) {
  std::vector<double> frequencies(options.head_dim / 2);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    double frequency = std::pow(
        options.theta, -2.0 * static_cast<double>(i) / options.head_dim);
    if (options.scaling.has_value()) {
      const RopeScaling& s = *options.scaling;
      // How often the wave turns within the original context.
      const double turns =
          s.original_max_position_embeddings * frequency / (2.0 * M_PI);
      if (turns < s.low_freq_factor) {
        frequency /= s.factor;
      } else if (turns <= s.high_freq_factor) {
        const double smooth = (turns - s.low_freq_factor) /
                              (s.high_freq_factor - s.low_freq_factor);
        frequency *= (1.0 - smooth) / s.factor + smooth;
      }
    }
    frequencies[i] = frequency;
  }
  return frequencies;
}

absl::StatusOr<Tensor> RopeTable(const Stream& stream,
                                 const RopeOptions& options, int64_t length,
                                 DType activation) {
  if (options.head_dim <= 0 || options.head_dim % 2 != 0 || length < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("rope: head_dim is ", options.head_dim, ", length ",
                     length, "; head_dim must be even and positive"));
  }
  const std::vector<double> frequencies = RopeFrequencies(options);
  const int64_t half = options.head_dim / 2;
  const DType dtype = internal::StatisticOf(activation);
  OCTET_ASSIGN_OR_RETURN(Tensor host,
                         Tensor::Allocate(dtype, Shape({length, 2, half})));
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) * frequencies[i];
      const int64_t at = t * 2 * half + i;
      if (dtype == DType::kF64) {
        host.as<double>()[at] = std::cos(angle);
        host.as<double>()[at + half] = std::sin(angle);
      } else {
        host.as<float>()[at] = static_cast<float>(std::cos(angle));
        host.as<float>()[at + half] = static_cast<float>(std::sin(angle));
      }
    }
  }
  if (stream.device().kind == DeviceKind::kCpu) return host;
  OCTET_ASSIGN_OR_RETURN(
      Tensor table, Tensor::Allocate(dtype, host.shape(), stream.device()));
  OCTET_RETURN_IF_ERROR(Copy(stream, host, table));
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  return table;
}

absl::Status Rope(const Stream& stream, const TensorView& table,
                  RopeDirection direction, const TensorView& x,
                  const TensorView& amax) {
  OCTET_RETURN_IF_ERROR(internal::CheckActivation({"rope", "x", x}));
  if (x.shape().rank() != 4 || table.shape().rank() != 3 ||
      table.shape().dim(0) < x.shape().dim(1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rope: x is ", x.ToString(), ", the table ", table.ToString()));
  }
  OCTET_RETURN_IF_ERROR(
      internal::CheckTensor(stream, {"rope", "x", x}, x.dtype(), x.shape()));
  OCTET_RETURN_IF_ERROR(internal::CheckTensor(
      stream, {"rope", "table", table}, internal::StatisticOf(x.dtype()),
      Shape({table.shape().dim(0), 2, x.shape().dim(3) / 2})));
  OCTET_RETURN_IF_ERROR(
      internal::CheckAmax(stream, {"rope", "amax", amax}, x.dtype()));
  OCTET_ASSIGN_OR_RETURN(auto* kernel,
                         internal::RopeSlot().Get(stream.device()));
  return kernel(stream, table, direction, x, amax);
}

}  // namespace octet::models
