// SPDX-License-Identifier: Apache-2.0
#include "testing/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/device_runtime.h"
#include "base/float16.h"
#include "base/status_macros.h"

namespace octet::testing {
namespace {

struct Float8Format {
  int mantissa_bits;
  int bias;
  int max_byte;  // of the largest finite value
};

Float8Format FormatOf(DType dtype) {
  return dtype == DType::kF8E4M3 ? Float8Format{3, 7, 0x7e}
                                 : Float8Format{2, 15, 0x7b};
}

double DecodeFloat8(uint8_t byte, DType dtype) {
  const Float8Format format = FormatOf(dtype);
  const int magnitude = byte & 0x7f;
  const double sign = byte & 0x80 ? -1.0 : 1.0;
  if (magnitude > format.max_byte) {
    return dtype == DType::kF8E5M2 && magnitude == 0x7c
               ? sign * std::numeric_limits<double>::infinity()
               : std::numeric_limits<double>::quiet_NaN();
  }
  const int one = 1 << format.mantissa_bits;
  const int exponent = magnitude / one;
  const int mantissa = magnitude % one + (exponent > 0 ? one : 0);
  return sign * std::ldexp(mantissa, std::max(exponent, 1) - format.bias -
                                         format.mantissa_bits);
}

// The nearest of all values, the even byte of two.
uint8_t EncodeFloat8(double value, DType dtype) {
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return sign | 0x7f;
  const double magnitude = std::fabs(value);
  int low = 0;
  int high = FormatOf(dtype).max_byte;
  if (magnitude >= DecodeFloat8(high, dtype)) return sign | high;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (DecodeFloat8(middle, dtype) <= magnitude ? low : high) = middle;
  }
  const double down = magnitude - DecodeFloat8(low, dtype);
  const double up = DecodeFloat8(high, dtype) - magnitude;
  const bool take_low = down < up || (down == up && low % 2 == 0);
  return sign | (take_low ? low : high);
}

template <typename T>
void Widen(const TensorView& tensor, std::vector<double>* out) {
  std::transform(tensor.as<T>(), tensor.as<T>() + tensor.num_elements(),
                 out->begin(), [](T x) { return static_cast<double>(x); });
}

// A rounding to float first would round twice; to odd, it does no harm.
float ToOddFloat(double value) {
  const float nearest = static_cast<float>(value);
  if (!std::isfinite(nearest) || nearest == value) return nearest;
  const float down = std::fabs(nearest) > std::fabs(value)
                         ? std::nextafter(nearest, 0.0f)
                         : nearest;
  uint32_t bits;
  std::memcpy(&bits, &down, sizeof(bits));
  bits |= 1;
  float odd;
  std::memcpy(&odd, &bits, sizeof(odd));
  return odd;
}

}  // namespace

absl::StatusOr<Tensor> ToHost(const TensorView& tensor) {
  OCTET_ASSIGN_OR_RETURN(Tensor host,
                         Tensor::Allocate(tensor.dtype(), tensor.shape()));
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(tensor.device().kind));
  const int index = tensor.device().index;
  OCTET_RETURN_IF_ERROR(runtime->copy(index, nullptr, tensor.data(),
                                      host.as<char>(), tensor.num_bytes()));
  OCTET_RETURN_IF_ERROR(runtime->synchronize(index, nullptr));
  return host;
}

absl::StatusOr<std::vector<double>> ToDoubles(const TensorView& tensor) {
  if (tensor.device().kind != DeviceKind::kCpu) {
    OCTET_ASSIGN_OR_RETURN(const Tensor host, ToHost(tensor));
    return ToDoubles(host);
  }
  const int64_t n = tensor.num_elements();
  std::vector<double> out(n);
  switch (tensor.dtype()) {
    case DType::kF64:
      Widen<double>(tensor, &out);
      break;
    case DType::kF32:
      Widen<float>(tensor, &out);
      break;
    case DType::kBf16:
      for (int64_t i = 0; i < n; ++i)
        out[i] = ToFloat(tensor.as<Bfloat16>()[i]);
      break;
    case DType::kF16:
      for (int64_t i = 0; i < n; ++i) out[i] = ToFloat(tensor.as<Float16>()[i]);
      break;
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      for (int64_t i = 0; i < n; ++i) {
        out[i] = DecodeFloat8(tensor.as<uint8_t>()[i], tensor.dtype());
      }
      break;
    case DType::kI64:
      Widen<int64_t>(tensor, &out);
      break;
    case DType::kI32:
      Widen<int32_t>(tensor, &out);
      break;
    case DType::kI16:
      Widen<int16_t>(tensor, &out);
      break;
    case DType::kI8:
      Widen<int8_t>(tensor, &out);
      break;
    case DType::kU64:
      Widen<uint64_t>(tensor, &out);
      break;
    case DType::kU32:
      Widen<uint32_t>(tensor, &out);
      break;
    case DType::kU16:
      Widen<uint16_t>(tensor, &out);
      break;
    case DType::kU8:
    case DType::kBool:
      Widen<uint8_t>(tensor, &out);
      break;
    case DType::kF8E8M0:
      return absl::UnimplementedError("doubles of f8_e8m0");
  }
  return out;
}

absl::StatusOr<Tensor> FromDoubles(absl::Span<const double> values, DType dtype,
                                   const Shape& shape) {
  if (static_cast<int64_t>(values.size()) != shape.num_elements()) {
    return absl::InvalidArgumentError(absl::StrCat(
        values.size(), " values for a tensor of ", shape.ToString()));
  }
  OCTET_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype, shape));
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    switch (dtype) {
      case DType::kF64:
        tensor.as<double>()[i] = value;
        break;
      case DType::kF32:
        tensor.as<float>()[i] = static_cast<float>(value);
        break;
      case DType::kBf16:
        tensor.as<Bfloat16>()[i] = ToBfloat16(ToOddFloat(value));
        break;
      case DType::kF16:
        tensor.as<Float16>()[i] = ToFloat16(ToOddFloat(value));
        break;
      case DType::kF8E4M3:
      case DType::kF8E5M2:
        tensor.as<uint8_t>()[i] = EncodeFloat8(value, dtype);
        break;
      default:
        return absl::UnimplementedError(
            absl::StrCat("a tensor of ", Name(dtype), " from doubles"));
    }
  }
  return tensor;
}

}  // namespace octet::testing
