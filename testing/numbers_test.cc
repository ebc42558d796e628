// SPDX-License-Identifier: Apache-2.0
#include "testing/numbers.h"

#include <cmath>
#include <limits>

#include "testing/status_matchers.h"

namespace octet::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<uint8_t> Bytes(absl::Span<const double> values, DType dtype) {
  const absl::StatusOr<Tensor> tensor =
      FromDoubles(values, dtype, Shape({static_cast<int64_t>(values.size())}));
  if (!tensor.ok()) return {};
  return std::vector<uint8_t>(tensor->as<uint8_t>(),
                              tensor->as<uint8_t>() + values.size());
}

TEST(NumbersTest, Float8KnownBytes) {
  EXPECT_THAT(
      Bytes({0.0, -0.0, 1.0, 448.0, 1e9, -500.0, 0x1p-9, 0x1p-10, kNan},
            DType::kF8E4M3),
      ElementsAre(0x00, 0x80, 0x38, 0x7e, 0x7e, 0xfe, 0x01, 0x00, 0x7f));
  EXPECT_THAT(Bytes({1.0, 57344.0, 1e9, 0x1p-16}, DType::kF8E5M2),
              ElementsAre(0x3c, 0x7b, 0x7b, 0x01));
}

TEST(NumbersTest, EveryFloat8ByteComesBack) {
  for (const DType dtype : {DType::kF8E4M3, DType::kF8E5M2}) {
    uint8_t bytes[256];
    for (int i = 0; i < 256; ++i) bytes[i] = i;
    OCTET_ASSERT_OK_AND_ASSIGN(
        const std::vector<double> values,
        ToDoubles(TensorView(bytes, dtype, Shape({256}))));
    const std::vector<uint8_t> back = Bytes(values, dtype);
    ASSERT_EQ(back.size(), 256u);
    for (int i = 0; i < 256; ++i) {
      if (std::isfinite(values[i])) {
        EXPECT_EQ(back[i], i) << Name(dtype);
      }
    }
  }
}

TEST(NumbersTest, RoundsOnce) {
  // Just above the middle of two bf16 values; as a float, the middle itself.
  const double above = 1.0 + 0x1p-8 + 0x1p-40;
  OCTET_ASSERT_OK_AND_ASSIGN(
      const Tensor t,
      FromDoubles({above, 1.0 + 0x1p-8}, DType::kBf16, Shape({2})));
  EXPECT_THAT(ToDoubles(t).value(), ElementsAre(1.0 + 0x1p-7, 1.0));
}

TEST(NumbersTest, IntegersAndEmpty) {
  int32_t values[] = {-3, 7};
  EXPECT_THAT(ToDoubles(TensorView(values, DType::kI32, Shape({2}))).value(),
              ElementsAre(-3.0, 7.0));
  EXPECT_THAT(FromDoubles({}, DType::kF32, Shape({0, 4})), IsOk());
}

TEST(NumbersTest, Errors) {
  EXPECT_THAT(FromDoubles({1.0}, DType::kF32, Shape({2})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("1 values for a tensor of [2]")));
  EXPECT_THAT(FromDoubles({1.0}, DType::kI32, Shape({1})),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("i32")));
  uint8_t byte = 0;
  EXPECT_THAT(ToDoubles(TensorView(&byte, DType::kF8E8M0, Shape({1}))),
              StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace octet::testing
