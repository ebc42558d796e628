// SPDX-License-Identifier: Apache-2.0
#include "models/layers/output_cast_fixture.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace octet::models {
namespace {

using octet::testing::BitwiseEq;
using octet::testing::IsOk;

}  // namespace

Tensor ToDeviceOrDie(const Stream& stream, const TensorView& host) {
  absl::StatusOr<Tensor> tensor = octet::testing::ToDevice(stream, host);
  EXPECT_THAT(tensor, IsOk());
  return *std::move(tensor);
}

Tensor ToHostOrDie(const Stream& stream, const TensorView& device) {
  absl::StatusOr<Tensor> tensor = octet::testing::ToHost(stream, device);
  EXPECT_THAT(tensor, IsOk());
  return *std::move(tensor);
}

Tensor Poisoned(const Stream& stream, DType dtype, const Shape& shape) {
  const Tensor host = MakeZeros(dtype, shape);
  if (host.num_elements() > 0) {
    std::memset(host.as<char>(), 0xa5, host.view().num_bytes());
  }
  return ToDeviceOrDie(stream, host);
}

std::string CastCase::ToString() const {
  return absl::StrCat(Name(plan.dtype), " ", float8::Name(plan.granularity),
                      " ", float8::Name(plan.rounding), " layout ",
                      static_cast<int>(layout), " scale ", known_scale);
}

CastCase CaseOf(float8::Granularity granularity, float8::CastLayout layout,
                float8::ScaleRounding rounding, DType dtype) {
  return {{dtype, granularity, rounding}, layout};
}

CastCase KnownCase(float8::CastLayout layout, DType dtype) {
  CastCase c = CaseOf(float8::Granularity::kTensor, layout,
                      float8::ScaleRounding::kExact, dtype);
  c.known_scale = 96.5;
  return c;
}

CastOutputs::CastOutputs(const Stream& stream, const CastCase& first)
    : stream_(stream), cases_({first}) {
  if (first.known_scale == 0.0) return;
  scale_ =
      ToDeviceOrDie(stream, MakeTensor(DType::kF32, Shape({1, 1}),
                                       absl::MakeSpan(&first.known_scale, 1)));
  seen_ = Poisoned(stream, DType::kF32, Shape({1, 1}));
}

CastOutputs::CastOutputs(const Stream& stream, const CastCase& first,
                         const CastCase& second)
    : CastOutputs(stream, first) {
  cases_.push_back(second);
}

OutputCast CastOutputs::cast() {
  OutputCast cast;
  cast.first = {cases_[0].plan, cases_[0].layout, &out_[0]};
  if (cases_.size() > 1) {
    cast.second = {cases_[1].plan, cases_[1].layout, &out_[1]};
  }
  cast.known_scale = scale_;
  cast.seen_amax = seen_;
  return cast;
}

void CastOutputs::Poison() {
  for (float8::Quantized& q : out_) {
    for (Tensor* tensor : {&q.data, &q.transposed, &q.scale, &q.reciprocal}) {
      if (!tensor->view().present()) continue;
      *tensor = Poisoned(stream_, tensor->dtype(), tensor->shape());
    }
  }
}

void CastOutputs::ExpectCastOf(const Tensor& output) const {
  const auto expect = [&](const Tensor& got, const Tensor& want) {
    ASSERT_EQ(got.view().present(), want.view().present());
    if (!want.view().present()) return;
    EXPECT_THAT(ToHostOrDie(stream_, got), BitwiseEq(want));
  };
  for (size_t i = 0; i < cases_.size(); ++i) {
    const CastCase& c = cases_[i];
    SCOPED_TRACE(c.ToString());
    float8::Quantized want;
    float8::CastOptions options;
    options.layout = c.layout;
    const Tensor amax = MakeZeros(DType::kF32, Shape({1, 1}));
    if (c.known_scale != 0.0) {
      options.seen_amax = amax;
      const Tensor scale =
          MakeTensor(DType::kF32, Shape({1, 1}), {c.known_scale});
      ASSERT_THAT(float8::CastWithScale(Stream(), output, scale, c.plan,
                                        options, &want),
                  IsOk());
      EXPECT_THAT(ToHostOrDie(stream_, seen_), BitwiseEq(amax));
    } else {
      ASSERT_THAT(float8::Cast(Stream(), output, c.plan, options, &want),
                  IsOk());
    }
    expect(out_[i].data, want.data);
    expect(out_[i].transposed, want.transposed);
    expect(out_[i].scale, want.scale);
    if (stream_.device().kind == DeviceKind::kCuda) {
      ExpectReciprocals(out_[i], output);
    }
  }
}

// Laid out for a GPU's multiplication; padding is not looked at.
void CastOutputs::ExpectReciprocals(const float8::Quantized& q,
                                    const TensorView& matrix) const {
  const Tensor scale = ToHostOrDie(stream_, q.scale);
  const Tensor got = ToHostOrDie(stream_, q.reciprocal);
  const Shape shape =
      float8::ReciprocalShape(q.plan.granularity, matrix.rows(), matrix.cols());
  ASSERT_EQ(got.shape(), shape);
  const int64_t columns = scale.view().cols();
  const bool by_row_block =
      q.plan.granularity == float8::Granularity::kBlock1x128;
  for (int64_t i = 0; i < scale.num_elements(); ++i) {
    const int64_t row = i / columns, col = i % columns;
    // A vector of scales is one whatever its shape.
    const int64_t at =
        shape.num_elements() == scale.num_elements() && !by_row_block ? i
        : by_row_block ? col * shape.cols() + row
                       : row * shape.cols() + col;
    const float want = 1.0f / scale.as<float>()[i];
    const float value = got.as<float>()[at];
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(value)) << i;
    } else {
      ASSERT_EQ(value, want) << i;
    }
  }
}

}  // namespace octet::models
