// SPDX-License-Identifier: Apache-2.0
#include "base/tensor.h"

#include "base/stream.h"
#include "testing/status_matchers.h"

namespace octet {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

TEST(TensorTest, ZerosAndCopy) {
  const Stream stream;
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor a,
                             Tensor::Zeros(stream, DType::kF32, Shape({2, 3})));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor b,
                             Tensor::Allocate(DType::kF32, Shape({2, 3})));
  a.as<float>()[4] = 7.0f;
  ASSERT_THAT(Copy(stream, a, b), IsOk());
  EXPECT_EQ(b.as<float>()[4], 7.0f);
  EXPECT_EQ(b.as<float>()[5], 0.0f);
}

TEST(TensorTest, EmptyTensorsAreFine) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const Tensor a, Tensor::Zeros(Stream(), DType::kBf16, Shape({0, 8})));
  EXPECT_TRUE(a.view().empty());
  EXPECT_EQ(a.view().num_bytes(), 0);
  EXPECT_THAT(Copy(Stream(), a, a), IsOk());
}

TEST(TensorTest, RowSlicesShareMemory) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const Tensor a, Tensor::Zeros(Stream(), DType::kF32, Shape({2, 2, 3})));
  const TensorView rows = a.view().RowSlice(1, 2);
  rows.as<float>()[0] = 5.0f;
  EXPECT_EQ(a.as<float>()[3], 5.0f);
  EXPECT_EQ(rows.shape(), Shape({2, 3}));
}

TEST(TensorTest, CopyNamesBothSides) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor a,
                             Tensor::Allocate(DType::kF32, Shape({2, 3})));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor b,
                             Tensor::Allocate(DType::kF32, Shape({3, 2})));
  EXPECT_THAT(
      Copy(Stream(), a, b),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("from is f32 [2, 3] on cpu, to is f32 [3, 2]")));
}

TEST(TensorTest, TooLargeIsAnErrorNotAnOverflow) {
  EXPECT_THAT(
      Tensor::Allocate(DType::kF32, Shape({1LL << 31, 1LL << 31})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("64 bits")));
}

TEST(TensorTest, ArgumentsMustBeThere) {
  constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor a,
                             Tensor::Allocate(DType::kF32, Shape({2, 3})));
  EXPECT_THAT(CheckArgument(Stream(), "op", "a", a), IsOk());
  EXPECT_THAT(CheckArgument(Stream(), "op", "a", TensorView()),
              StatusIs(kInvalid, HasSubstr("op: a is absent")));
  EXPECT_THAT(
      CheckArgument(Stream(), "op", "a",
                    TensorView(nullptr, DType::kF32, Shape({2, 3}))),
      StatusIs(kInvalid, HasSubstr("op: a has no memory, it is f32 [2, 3]")));
  EXPECT_THAT(CheckArgument(Stream(), "op", "a",
                            TensorView(nullptr, DType::kF32, Shape({0, 3}))),
              IsOk());
  EXPECT_THAT(
      CheckArgument(Stream(), "op", "a",
                    TensorView(a.view().data(), DType::kF32, Shape({2, 3}),
                               Device{DeviceKind::kCuda, 1})),
      StatusIs(kInvalid, HasSubstr("on cuda:1, the stream is on cpu")));
}

TEST(TensorTest, CudaNeedsItsLeaf) {
  EXPECT_THAT(
      Tensor::Allocate(DType::kF32, Shape({2}), Device{DeviceKind::kCuda, 0}),
      StatusIs(absl::StatusCode::kUnimplemented,
               HasSubstr("//base:device_cuda")));
  EXPECT_THAT(Stream::Create(Device{DeviceKind::kCuda, 0}),
              StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace octet
