// SPDX-License-Identifier: Apache-2.0
#include "base/convert.h"

#include <cmath>
#include <limits>
#include <vector>

#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet {
namespace {

using ::octet::testing::BitwiseEq;
using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

// `values` as `from`, converted to `to`; every value fits `from` exactly.
void ExpectRounds(const Stream& stream, const std::vector<double>& values,
                  DType from, DType to) {
  const Shape shape({static_cast<int64_t>(values.size())});
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor host,
                             testing::FromDoubles(values, from, shape));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor expected,
                             testing::FromDoubles(values, to, shape));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor in, testing::ToDevice(stream, host));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor out,
                             Tensor::Allocate(to, shape, stream.device()));
  ASSERT_THAT(Convert(stream, in, out), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor got, testing::ToHost(stream, out));
  EXPECT_THAT(got, BitwiseEq(expected)) << Name(from) << " to " << Name(to);
}

TEST(ConvertTest, EveryPair) {
  OCTET_TEST_STREAM(stream);
  const std::vector<double> exact = {
      0.0,         -0.0,  1.0,
      -2.5,        0.125, std::numeric_limits<double>::infinity(),
      std::nan("")};
  std::vector<double> rounded;
  for (int i = 0; i < 40000; ++i) {
    rounded.push_back(static_cast<float>(std::sin(i) * std::exp2(i % 30 - 20)));
  }
  for (const DType from : {DType::kF32, DType::kBf16, DType::kF16}) {
    for (const DType to : {DType::kF32, DType::kBf16, DType::kF16}) {
      ExpectRounds(stream, exact, from, to);
    }
    ExpectRounds(stream, rounded, DType::kF32, from);
  }
  ExpectRounds(stream, exact, DType::kF32, DType::kF64);
  ExpectRounds(stream, exact, DType::kF64, DType::kF32);
  ExpectRounds(stream, {1.0 + 0x1p-24, 1.0 + 0x1p-24 + 0x1p-50}, DType::kF64,
               DType::kF32);
}

TEST(ConvertTest, Nothing) {
  OCTET_TEST_STREAM(stream);
  ExpectRounds(stream, {}, DType::kF32, DType::kBf16);
}

TEST(ConvertTest, Errors) {
  float values[6] = {};
  const TensorView a(values, DType::kF32, Shape({2, 3}));
  EXPECT_THAT(Convert(Stream(), a, a.Reshaped(Shape({3, 2}))),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("from is f32 [2, 3] on cpu")));
  EXPECT_THAT(
      Convert(Stream(), a, TensorView(values, DType::kI32, a.shape())),
      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("from f32 to i32")));
}

}  // namespace
}  // namespace octet
