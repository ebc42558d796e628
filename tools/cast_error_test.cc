// SPDX-License-Identifier: Apache-2.0
#include "tools/cast_error.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "testing/random_tensor.h"
#include "testing/status_matchers.h"

namespace octet::tools {
namespace {

using ::octet::testing::StatusIs;

CastError Measure(std::vector<float> values, const float8::CastPlan& plan) {
  const TensorView in(values.data(), DType::kF32,
                      Shape({1, static_cast<int64_t>(values.size())}));
  const absl::StatusOr<CastError> error = MeasureCast(in, plan);
  EXPECT_TRUE(error.ok()) << error.status();
  return *error;
}

TEST(CastErrorTest, NothingLost) {
  const CastError error = Measure({448.0f, -1.0f, 0.0f, 0.5f}, {});
  EXPECT_EQ(error.elements, 4);
  EXPECT_EQ(error.underflowed, 0);
  EXPECT_EQ(error.saturated, 0);
  EXPECT_EQ(error.sqnr_db, std::numeric_limits<double>::infinity());
}

TEST(CastErrorTest, CountsUnderflow) {
  // Scale 1: 2^-10 is the tie that rounds to zero, 2^-9 the smallest value.
  const CastError error =
      Measure({448.0f, 0x1p-10f, -0x1p-11f, 0x1p-9f, 0.0f}, {});
  EXPECT_EQ(error.underflowed, 2);
  EXPECT_NEAR(error.sqnr_db,
              10 * std::log10(448.0 * 448.0 / (0x1p-20 + 0x1p-22)), 1e-6);
}

TEST(CastErrorTest, NotFiniteIsReported) {
  const float inf = std::numeric_limits<float>::infinity();
  const CastError error = Measure({1.0f, inf, std::nanf(""), 2.0f}, {});
  EXPECT_EQ(error.not_finite, 2);
  EXPECT_TRUE(std::isnan(error.sqnr_db));
}

// Normal data: 3 mantissa bits give about 31.5 dB, 2 bits 6 dB less.
TEST(CastErrorTest, NormalDataInEitherFormat) {
  for (DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
    OCTET_ASSERT_OK_AND_ASSIGN(
        const Tensor in, testing::RandomTensor(dtype, Shape({64, 256}), 1));
    float8::CastPlan plan;
    OCTET_ASSERT_OK_AND_ASSIGN(const CastError e4m3, MeasureCast(in, plan));
    plan.dtype = DType::kF8E5M2;
    OCTET_ASSERT_OK_AND_ASSIGN(const CastError e5m2, MeasureCast(in, plan));
    EXPECT_GT(e4m3.sqnr_db, 30.0);
    EXPECT_LT(e4m3.sqnr_db, 33.0);
    EXPECT_NEAR(e4m3.sqnr_db - e5m2.sqnr_db, 6.0, 0.5);
  }
}

TEST(CastErrorTest, EmptyAndWrongType) {
  const TensorView empty(nullptr, DType::kF32, Shape({0, 8}));
  OCTET_ASSERT_OK_AND_ASSIGN(const CastError error, MeasureCast(empty, {}));
  EXPECT_EQ(error.elements, 0);
  std::vector<uint8_t> bytes(4);
  EXPECT_THAT(MeasureCast(TensorView(bytes.data(), DType::kU8, Shape({4})), {}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace octet::tools
