// SPDX-License-Identifier: Apache-2.0
#include "models/layers/embedding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::models {
namespace {

using octet::testing::BitwiseEq;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using octet::testing::ToDevice;
using octet::testing::ToHost;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool IsCpu(const Stream& stream) {
  return stream.device().kind == DeviceKind::kCpu;
}

std::vector<DType> DTypes(const Stream& stream) {
  if (IsCpu(stream)) return {DType::kF32, DType::kBf16, DType::kF64};
  return {DType::kF32, DType::kBf16};
}

// A tensor on the device whose elements start `skip` of them after an aligned
// address, and whose bytes are all ones: NaN.
struct Poisoned {
  Poisoned(const Stream& stream, DType dtype, const Shape& shape, int64_t skip)
      : host(MakeZeros(dtype, Shape({shape.num_elements() + skip}))) {
    std::memset(host.as<char>(), 0xff, host.view().num_bytes());
    memory = ToDevice(stream, host).value();
    view = TensorView(memory.as<char>() + skip * SizeOf(dtype), dtype, shape,
                      stream.device());
  }
  Poisoned(const Stream& stream, const TensorView& values, int64_t skip)
      : Poisoned(stream, values.dtype(), values.shape(), skip) {
    EXPECT_THAT(Copy(stream, values, view), IsOk());
    EXPECT_THAT(stream.Synchronize(), IsOk());
  }

  Tensor host, memory;
  TensorView view;
};

TEST(EmbeddingTest, TakesRowsOfTheTable) {
  OCTET_TEST_STREAM(stream);
  for (const DType dtype : DTypes(stream)) {
    const Poisoned table(
        stream, MakeTensor(dtype, Shape({3, 2}), {0.5, 1, 2, 3, 4, 5}), 0);
    const Tensor tokens =
        ToDevice(stream, MakeTensor(Shape({4}), {2, 0, 2, 1})).value();
    const Poisoned x(stream, dtype, Shape({4, 2}), 1);
    ASSERT_THAT(EmbeddingForward(stream, tokens, table.view, x.view), IsOk());
    EXPECT_THAT(Doubles(ToHost(stream, x.view).value()),
                ElementsAre(4, 5, 0.5, 1, 4, 5, 2, 3));
  }
}

TEST(EmbeddingTest, GradientsOfOneTokenAddUpOntoWhatIsThere) {
  OCTET_TEST_STREAM(stream);
  for (const DType dtype : DTypes(stream)) {
    const Tensor tokens =
        ToDevice(stream, MakeTensor(Shape({3}), {1, 0, 1})).value();
    const Tensor dx =
        ToDevice(stream, MakeTensor(dtype, Shape({3, 2}), {1, 2, 3, 4, 5, 6}))
            .value();
    for (const DType of_table : {DType::kF32, DType::kBf16}) {
      const Tensor dtable =
          ToDevice(stream,
                   MakeTensor(dtype == DType::kF64 ? DType::kF64 : of_table,
                              Shape({3, 2}), {0, 0, 10, 20, 7, 8}))
              .value();
      ASSERT_THAT(EmbeddingBackward(stream, tokens, dx, dtable), IsOk());
      EXPECT_THAT(Doubles(ToHost(stream, dtable).value()),
                  ElementsAre(3, 4, 16, 28, 7, 8));
    }
  }
}

// Rows of whole vectors and others, aligned or not; few ids, so that most come
// again, some more often than a block lists at once, and one not at all.
struct Case {
  int64_t hidden, skip;
  std::vector<int32_t> tokens;
};

std::vector<Case> Cases() {
  std::vector<int32_t> few(1501), one(2200, 2);
  for (size_t i = 0; i < few.size(); ++i) {
    few[i] = static_cast<int32_t>(i * i % 97 % 23);
  }
  std::vector<Case> cases;
  for (const int64_t hidden : {1, 5, 8, 40, 131, 1032}) {
    cases.push_back({hidden, 0, few});
  }
  cases.push_back({64, 1, few});
  cases.push_back({72, 0, one});
  return cases;
}
constexpr int64_t kVocab = 24;

TEST(EmbeddingTest, DevicesAgreeBitForBit) {
  OCTET_TEST_STREAM(stream);
  for (const Case& c : Cases()) {
    const auto count = static_cast<int64_t>(c.tokens.size());
    const Tensor host_tokens = MakeTensor(Shape({count}), c.tokens);
    const Poisoned tokens(stream, host_tokens, c.skip);
    const Shape shape({count, c.hidden}), vocab({kVocab, c.hidden});
    const std::vector<double> gradients = NormalValues(shape.num_elements(), 2);
    for (const DType dtype : {DType::kF32, DType::kBf16}) {
      const Tensor table =
          MakeTensor(dtype, vocab, NormalValues(vocab.num_elements(), 1));
      const Tensor expected_x = MakeZeros(dtype, shape);
      ASSERT_THAT(EmbeddingForward(Stream(), host_tokens, table, expected_x),
                  IsOk());
      const Poisoned x(stream, dtype, shape, c.skip);
      ASSERT_THAT(
          EmbeddingForward(stream, tokens.view,
                           Poisoned(stream, table, c.skip).view, x.view),
          IsOk());
      ASSERT_THAT(stream.Synchronize(), IsOk());
      EXPECT_THAT(ToHost(stream, x.view).value(), BitwiseEq(expected_x))
          << c.hidden;
      const Tensor dx = MakeTensor(dtype, shape, gradients);
      const Poisoned device_dx(stream, dx, c.skip);
      for (const DType of_table : {DType::kF32, DType::kBf16}) {
        const Tensor start =
            MakeTensor(of_table, vocab, NormalValues(vocab.num_elements(), 3));
        const Poisoned dtable(stream, start, c.skip);
        ASSERT_THAT(EmbeddingBackward(Stream(), host_tokens, dx, start),
                    IsOk());
        ASSERT_THAT(
            EmbeddingBackward(stream, tokens.view, device_dx.view, dtable.view),
            IsOk());
        EXPECT_THAT(ToHost(stream, dtable.view).value(), BitwiseEq(start))
            << c.hidden << " " << c.skip;
      }
    }
  }
}

// 1 + 255 * 2^-9 is rounded once; rounded each time it would stay 1.
TEST(EmbeddingTest, Bf16GradientsAreRoundedOnce) {
  OCTET_TEST_STREAM(stream);
  const Tensor tokens =
      ToDevice(stream, MakeTensor(Shape({256}), std::vector<int32_t>(256, 1)))
          .value();
  std::vector<double> parts(256, 0x1p-9);
  parts[0] = 1.0;
  const Tensor dx =
      ToDevice(stream, MakeTensor(DType::kBf16, Shape({256, 1}), parts))
          .value();
  const Tensor dtable =
      ToDevice(stream, MakeZeros(DType::kBf16, Shape({2, 1}))).value();
  ASSERT_THAT(EmbeddingBackward(stream, tokens, dx, dtable), IsOk());
  EXPECT_THAT(Doubles(ToHost(stream, dtable).value()), ElementsAre(0.0, 1.5));
}

TEST(EmbeddingTest, WideRowsAreSplitWithoutGaps) {
  OCTET_TEST_STREAM(stream);
  for (const int64_t hidden : {131, 2048}) {
    const Tensor tokens =
        ToDevice(stream, MakeTensor(Shape({2}), {0, 0})).value();
    const Tensor dx =
        ToDevice(stream, MakeTensor(DType::kF32, Shape({2, hidden}),
                                    std::vector<double>(2 * hidden, 1.0)))
            .value();
    const Tensor dtable =
        ToDevice(stream, MakeZeros(DType::kF32, Shape({1, hidden}))).value();
    ASSERT_THAT(EmbeddingBackward(stream, tokens, dx, dtable), IsOk());
    EXPECT_EQ(Doubles(ToHost(stream, dtable).value()),
              std::vector<double>(hidden, 2.0));
  }
}

TEST(EmbeddingTest, NoTokensIsNoWork) {
  OCTET_TEST_STREAM(stream);
  const Tensor table =
      ToDevice(stream, MakeZeros(DType::kF32, Shape({3, 2}))).value();
  const Tensor tokens = ToDevice(stream, MakeTensor(Shape({0}), {})).value();
  const Tensor x =
      ToDevice(stream, MakeZeros(DType::kF32, Shape({0, 2}))).value();
  EXPECT_THAT(EmbeddingForward(stream, tokens, table, x), IsOk());
  EXPECT_THAT(EmbeddingBackward(stream, tokens, x, table), IsOk());
}

TEST(EmbeddingTest, NamesATokenOutsideTheVocabulary) {
  const Tensor table = MakeZeros(DType::kF32, Shape({256, 2}));
  const Tensor x = MakeZeros(DType::kF32, Shape({3, 2}));
  for (const int32_t bad : {256, -1}) {
    const Tensor tokens = MakeTensor(Shape({3}), {0, 255, bad});
    EXPECT_THAT(
        EmbeddingForward(Stream(), tokens, table, x),
        StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("token 2 is")));
  }
}

TEST(EmbeddingTest, OnAGpuATokenOutsideTheVocabularyIsNan) {
  OCTET_TEST_STREAM(stream);
  if (IsCpu(stream)) GTEST_SKIP();
  constexpr int32_t kBad[] = {3, -1, 1 << 30, -(1 << 30)};
  for (const int64_t hidden : {3, 16}) {
    for (const DType dtype : {DType::kF32, DType::kBf16}) {
      const Tensor tokens =
          ToDevice(stream, MakeTensor(Shape({6}), {2, kBad[0], kBad[1], kBad[2],
                                                   kBad[3], 2}))
              .value();
      const Tensor table =
          ToDevice(stream, MakeZeros(dtype, Shape({3, hidden}))).value();
      const Tensor ones =
          ToDevice(stream, MakeTensor(dtype, Shape({6, hidden}),
                                      std::vector<double>(6 * hidden, 1.0)))
              .value();
      ASSERT_THAT(EmbeddingBackward(stream, tokens, ones, table), IsOk());
      std::vector<double> expected(3 * hidden, 0.0);
      std::fill(expected.end() - hidden, expected.end(), 2.0);
      EXPECT_EQ(Doubles(ToHost(stream, table).value()), expected);
      ASSERT_THAT(EmbeddingForward(stream, tokens, table, ones), IsOk());
      const std::vector<double> x = Doubles(ToHost(stream, ones).value());
      for (int64_t i = 0; i < 6 * hidden; ++i) {
        const int64_t row = i / hidden;
        if (row == 0 || row == 5) {
          EXPECT_EQ(x[i], 2.0);
        } else {
          EXPECT_TRUE(std::isnan(x[i]));
        }
      }
    }
  }
}

TEST(EmbeddingTest, RefusesShapesThatDoNotFit) {
  const Tensor table = MakeZeros(DType::kF32, Shape({3, 2}));
  const Tensor tokens = MakeTensor(Shape({1}), {0});
  EXPECT_THAT(
      EmbeddingForward(Stream(), tokens, table,
                       MakeZeros(DType::kF32, Shape({1, 3}))),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f32 [1, 3]")));
  EXPECT_THAT(
      EmbeddingBackward(Stream(), tokens, MakeZeros(DType::kF64, Shape({1, 2})),
                        MakeZeros(DType::kBf16, Shape({3, 2}))),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f64")));
}

}  // namespace
}  // namespace octet::models
