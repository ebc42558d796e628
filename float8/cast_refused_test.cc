// SPDX-License-Identifier: Apache-2.0

// Arguments that would read or write memory that is not there, refused before
// anything is allocated.
#include <vector>

#include "float8/cast.h"
#include "float8/cast_fixture.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::float8 {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
const CastPlan kRowPlan = PlanOf(Granularity::kRow);

TensorView NoMemory(const Shape& shape, DType dtype = DType::kF32) {
  return TensorView(nullptr, dtype, shape);
}

CastJob JobOf(const Tensor& in, Quantized* out) {
  CastJob job;
  job.in = in;
  job.out = out;
  return job;
}

TEST(CastRefusedTest, JobsNeedAnOutputEach) {
  const Tensor small = Filled(1.0, {8, 8}), large = Filled(1.0, {64, 64});
  Quantized first, shared;
  EXPECT_THAT(CastMany(Stream(), {JobOf(large, &shared), JobOf(small, &first),
                                  JobOf(small, &shared)}),
              StatusIs(kInvalid, HasSubstr("jobs 0 and 2 have the same out")));
  EXPECT_THAT(CastMany(Stream(), {JobOf(small, &first), JobOf(large, nullptr)}),
              StatusIs(kInvalid, HasSubstr("out of job 1 is null")));
  EXPECT_FALSE(first.scale.view().present());
  EXPECT_FALSE(shared.scale.view().present());
  EXPECT_THAT(CastMany(Stream(), {JobOf(small, &first), JobOf(large, &shared)}),
              IsOk());
  EXPECT_THAT(CastMany(Stream(), {}), IsOk());
}

TEST(CastRefusedTest, NullOutputs) {
  const Tensor in = Filled(1.0, {4, 6}), scale = Filled(1.0, {4, 1});
  Quantized q;
  EXPECT_THAT(Cast(Stream(), in, kRowPlan, nullptr),
              StatusIs(kInvalid, HasSubstr("out is null")));
  EXPECT_THAT(CastWithScale(Stream(), in, scale, kRowPlan, {}, nullptr),
              StatusIs(kInvalid, HasSubstr("out is null")));
  const CastTarget good = {kRowPlan, CastLayout::kRowMajor, &q};
  const CastTarget null = {kRowPlan, CastLayout::kRowMajor, nullptr};
  EXPECT_THAT(CastPair(Stream(), in, good, null),
              StatusIs(kInvalid, HasSubstr("second.out is null")));
  EXPECT_THAT(CastPair(Stream(), in, null, good),
              StatusIs(kInvalid, HasSubstr("first.out is null")));
  EXPECT_THAT(CastPair(Stream(), in, good, good),
              StatusIs(kInvalid, HasSubstr("two different outputs")));
  EXPECT_FALSE(q.scale.view().present());
}

TEST(CastRefusedTest, AScaleInsideOneThatIsAllocatedAgain) {
  const Tensor in = Filled(1.0, {64, 8});
  Quantized q;
  ASSERT_THAT(Cast(Stream(), in, kRowPlan, &q), IsOk());
  const void* const scale = q.scale.view().data();
  const TensorView half = in.view().RowSlice(0, 32);
  for (const int64_t begin : {0, 7, 32}) {
    EXPECT_THAT(
        CastWithScale(Stream(), half, q.scale.view().RowSlice(begin, 32),
                      kRowPlan, {}, &q),
        StatusIs(kInvalid, AllOf(HasSubstr("scale is f32 [32, 1]"),
                                 HasSubstr("inside out->scale"),
                                 HasSubstr("f32 [64, 1]"))))
        << begin;
  }
  CastOptions options;
  options.known_amax = q.scale.view().RowSlice(0, 32);
  EXPECT_THAT(Cast(Stream(), half, kRowPlan, options, &q),
              StatusIs(kInvalid, HasSubstr("known_amax is f32 [32, 1]")));
  EXPECT_EQ(q.scale.view().data(), scale);

  // The whole of it stays where it is.
  const std::vector<int> bytes = Bytes(q);
  ASSERT_THAT(CastWithScale(Stream(), in, q.scale, kRowPlan, {}, &q), IsOk());
  EXPECT_EQ(q.scale.view().data(), scale);
  EXPECT_EQ(Bytes(q), bytes);
  // So does one of other memory, which `out` then takes the values of.
  const Tensor other = Filled(2.0, {32, 1});
  ASSERT_THAT(CastWithScale(Stream(), half, other, kRowPlan, {}, &q), IsOk());
  EXPECT_EQ(Scales(q), std::vector<float>(32, 2.0f));
}

TEST(CastRefusedTest, ViewsWithoutMemory) {
  const Tensor in = Filled(1.0, {4, 6}), scale = Filled(1.0, {4, 1});
  Quantized q;
  const auto expect = [](const absl::Status& status, const char* what) {
    EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr(what)));
  };
  expect(Cast(Stream(), NoMemory({4, 6}), kRowPlan, &q), "in has no memory");
  expect(Cast(Stream(), TensorView(), kRowPlan, &q), "in is absent");
  expect(CastWithScale(Stream(), in, NoMemory({4, 1}), kRowPlan, {}, &q),
         "scale has no memory");
  CastOptions options;
  options.known_amax = NoMemory({4, 1});
  expect(Cast(Stream(), in, kRowPlan, options, &q), "known_amax has no memory");
  options = {};
  options.seen_amax = NoMemory({4, 1});
  expect(CastWithScale(Stream(), in, scale, kRowPlan, options, &q),
         "seen_amax has no memory");
  options = {};
  options.column_sum = NoMemory({6});
  expect(Cast(Stream(), in, kRowPlan, options, &q), "column_sum has no memory");
  CastJob job;
  job.in = NoMemory({4, 6});
  job.out = &q;
  expect(CastMany(Stream(), {job}), "in has no memory");
  EXPECT_FALSE(q.scale.view().present());
  ASSERT_THAT(Cast(Stream(), in, kRowPlan, &q), IsOk());
  expect(Dequantize(Stream(), q, NoMemory({4, 6})), "out has no memory");
  // A matrix without elements has none and needs none.
  EXPECT_THAT(Cast(Stream(), NoMemory({0, 6}), kRowPlan, &q), IsOk());
}

}  // namespace
}  // namespace octet::float8
