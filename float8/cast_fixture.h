// SPDX-License-Identifier: Apache-2.0

// What the tests of casts share: matrices from values, and casts of host
// matrices on a stream's device whose results come back to the host.
#ifndef OCTET_FLOAT8_CAST_FIXTURE_H_
#define OCTET_FLOAT8_CAST_FIXTURE_H_

#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "float8/cast.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {

inline constexpr Granularity kAll[] = {
    Granularity::kTensor,     Granularity::kRow,
    Granularity::kColumn,     Granularity::kBlock1x128,
    Granularity::kBlock128x1, Granularity::kBlock128x128,
    Granularity::kBlock1x32,  Granularity::kBlock32x1};
inline constexpr DType kInputs[] = {DType::kF32, DType::kBf16, DType::kF16};
inline constexpr ScaleRounding kRoundings[] = {
    ScaleRounding::kExact, ScaleRounding::kPowerOfTwo, ScaleRounding::kE8m0};
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline Tensor Make(const std::vector<double>& values, const Shape& shape,
                   DType dtype = DType::kF32) {
  absl::StatusOr<Tensor> tensor = testing::FromDoubles(values, dtype, shape);
  EXPECT_THAT(tensor, testing::IsOk());
  return *std::move(tensor);
}

inline Tensor Filled(double value, const Shape& shape,
                     DType dtype = DType::kF32) {
  return Make(std::vector<double>(shape.num_elements(), value), shape, dtype);
}

inline CastPlan PlanOf(Granularity granularity,
                       ScaleRounding rounding = ScaleRounding::kExact,
                       DType dtype = DType::kF8E4M3) {
  CastPlan plan;
  plan.dtype = dtype;
  plan.granularity = granularity;
  plan.rounding = rounding;
  return plan;
}

// Tiles that the stream's device has; the CPU alone has those of the mx
// formats.
inline std::vector<Granularity> GranularitiesOn(const Stream& stream) {
  const bool is_cpu = stream.device().kind == DeviceKind::kCpu;
  return std::vector<Granularity>(std::begin(kAll),
                                  std::end(kAll) - (is_cpu ? 0 : 2));
}
inline std::vector<ScaleRounding> RoundingsOn(const Stream& stream) {
  const bool is_cpu = stream.device().kind == DeviceKind::kCpu;
  return std::vector<ScaleRounding>(std::begin(kRoundings),
                                    std::end(kRoundings) - (is_cpu ? 0 : 1));
}

inline Tensor OnDevice(const Stream& stream, const TensorView& host) {
  Tensor copy =
      Tensor::Allocate(host.dtype(), host.shape(), stream.device()).value();
  EXPECT_THAT(Copy(stream, host, copy), testing::IsOk());
  EXPECT_THAT(stream.Synchronize(), testing::IsOk());
  return copy;
}

// Plan, bytes and scales in host memory.
inline Quantized OnHost(const Stream& stream, const Quantized& q) {
  Quantized host;
  host.plan = q.plan;
  for (const auto& [from, to] : {std::make_pair(&q.data, &host.data),
                                 std::make_pair(&q.scale, &host.scale)}) {
    absl::StatusOr<Tensor> copy = testing::ToHost(stream, *from);
    EXPECT_THAT(copy, testing::IsOk());
    *to = *std::move(copy);
  }
  return host;
}

// Casts a host tensor on the stream's device.
inline Quantized CastOf(const Stream& stream, const TensorView& in,
                        const CastPlan& plan) {
  Quantized out;
  EXPECT_THAT(Cast(stream, OnDevice(stream, in), plan, &out), testing::IsOk());
  return OnHost(stream, out);
}

inline Quantized CastWithScaleOf(const Stream& stream, const TensorView& in,
                                 const TensorView& scale, const CastPlan& plan,
                                 const CastOptions& options = {}) {
  Quantized out;
  EXPECT_THAT(CastWithScale(stream, OnDevice(stream, in),
                            OnDevice(stream, scale), plan, options, &out),
              testing::IsOk());
  return OnHost(stream, out);
}

inline std::vector<int> Bytes(const Quantized& q) {
  const uint8_t* data = q.data.as<uint8_t>();
  return std::vector<int>(data, data + q.data.num_elements());
}

inline std::vector<float> Scales(const Quantized& q) {
  const float* data = q.scale.as<float>();
  return std::vector<float>(data, data + q.scale.num_elements());
}

// Of what lies on the host, on the stream's device.
inline Tensor DequantizedTo(const Stream& stream, const Quantized& q,
                            DType dtype) {
  Quantized in;
  in.plan = q.plan;
  in.data = OnDevice(stream, q.data);
  in.scale = OnDevice(stream, q.scale);
  const Tensor out =
      Tensor::Allocate(dtype, q.data.shape(), stream.device()).value();
  EXPECT_THAT(Dequantize(stream, in, out), testing::IsOk());
  return testing::ToHost(stream, out).value();
}

inline std::vector<double> Dequantized(const Stream& stream,
                                       const Quantized& q) {
  return testing::ToDoubles(DequantizedTo(stream, q, DType::kF32)).value();
}

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_CAST_FIXTURE_H_
