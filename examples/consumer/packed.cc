// SPDX-License-Identifier: Apache-2.0

#include "packed.h"

#include "base/stream.h"
#include "base/tensor.h"
#include "float8/cast.h"
#include "float8/scaling.h"

absl::StatusOr<Packed> Pack(absl::Span<const float> values) {
  const octet::float8::CastPlan plan;  // e4m3, one scale for all
  octet::float8::Quantized out;
  const absl::Status status = octet::float8::Cast(
      octet::Stream(),
      octet::TensorView::Of(values, octet::DType::kF32)
          .Reshaped(octet::Shape({1, static_cast<int64_t>(values.size())})),
      plan, &out);
  if (!status.ok()) return status;
  const uint8_t* bytes = out.data.as<uint8_t>();
  return Packed{std::vector<uint8_t>(bytes, bytes + values.size()),
                out.scale.as<float>()[0]};
}
