// SPDX-License-Identifier: Apache-2.0
#include "base/convert.h"

#include "absl/strings/str_cat.h"
#include "base/convert_kernel.h"
#include "base/float16.h"
#include "base/parallel.h"
#include "base/status_macros.h"

namespace octet {
namespace internal {
namespace {

constexpr int64_t kGrain = 1 << 14;

template <typename To>
To FromFloat(float x);
template <>
float FromFloat(float x) {
  return x;
}
template <>
double FromFloat(float x) {
  return x;
}
template <>
Bfloat16 FromFloat(float x) {
  return ToBfloat16(x);
}
template <>
Float16 FromFloat(float x) {
  return ToFloat16(x);
}

float AsFloat(float x) { return x; }
float AsFloat(double x) { return static_cast<float>(x); }
float AsFloat(Bfloat16 x) { return ToFloat(x); }
float AsFloat(Float16 x) { return ToFloat(x); }

template <typename From, typename To>
absl::Status Loop(const TensorView& from, const TensorView& to) {
  const From* in = from.as<From>();
  To* out = to.as<To>();
  ParallelFor(from.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out[i] = FromFloat<To>(AsFloat(in[i]));
  });
  return absl::OkStatus();
}

template <typename From>
absl::Status LoopFrom(const TensorView& from, const TensorView& to) {
  switch (to.dtype()) {
    case DType::kF64:
      return Loop<From, double>(from, to);
    case DType::kBf16:
      return Loop<From, Bfloat16>(from, to);
    case DType::kF16:
      return Loop<From, Float16>(from, to);
    default:
      return Loop<From, float>(from, to);
  }
}

}  // namespace

absl::Status ConvertCpu(const Stream&, const TensorView& from,
                        const TensorView& to) {
  switch (from.dtype()) {
    case DType::kF64:
      return Loop<double, float>(from, to);
    case DType::kBf16:
      return LoopFrom<Bfloat16>(from, to);
    case DType::kF16:
      return LoopFrom<Float16>(from, to);
    default:
      return LoopFrom<float>(from, to);
  }
}

KernelSlot<ConvertKernel>& ConvertSlot() {
  static KernelSlot<ConvertKernel> slot("//base:convert_cuda", &ConvertCpu);
  return slot;
}

}  // namespace internal

namespace {

bool IsNarrow(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBf16 || dtype == DType::kF16;
}

bool IsPair(DType a, DType b) {
  return (IsNarrow(a) && IsNarrow(b)) ||
         (a == DType::kF64 && b == DType::kF32) ||
         (a == DType::kF32 && b == DType::kF64);
}

}  // namespace

absl::Status Convert(const Stream& stream, const TensorView& from,
                     const TensorView& to) {
  if (from.shape() != to.shape() || from.device() != stream.device() ||
      to.device() != stream.device()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "convert: from is ", from.ToString(), ", to is ", to.ToString(),
        ", the stream is on ", stream.device().ToString()));
  }
  if (from.dtype() == to.dtype()) return Copy(stream, from, to);
  if (!IsPair(from.dtype(), to.dtype())) {
    return absl::UnimplementedError(absl::StrCat(
        "convert: from ", Name(from.dtype()), " to ", Name(to.dtype())));
  }
  if (from.empty()) return absl::OkStatus();
  OCTET_ASSIGN_OR_RETURN(auto* kernel,
                         internal::ConvertSlot().Get(stream.device()));
  return kernel(stream, from, to);
}

}  // namespace octet
