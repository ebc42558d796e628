// SPDX-License-Identifier: Apache-2.0
#include "models/layers/embedding.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "testing/status_matchers.h"

namespace octet::models {
namespace {

using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(EmbeddingTest, TakesRowsOfTheTable) {
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF64}) {
    const Tensor table = MakeTensor(dtype, Shape({3, 2}), {0.5, 1, 2, 3, 4, 5});
    const Tensor tokens = MakeTensor(Shape({4}), {2, 0, 2, 1});
    const Tensor x = MakeZeros(dtype, Shape({4, 2}));
    ASSERT_THAT(EmbeddingForward(Stream(), tokens, table, x), IsOk());
    EXPECT_THAT(Doubles(x), ElementsAre(4, 5, 0.5, 1, 4, 5, 2, 3));
  }
}

TEST(EmbeddingTest, GradientsOfOneTokenAddUpOntoWhatIsThere) {
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF64}) {
    const Tensor tokens = MakeTensor(Shape({3}), {1, 0, 1});
    const Tensor dx = MakeTensor(dtype, Shape({3, 2}), {1, 2, 3, 4, 5, 6});
    const Tensor dtable =
        MakeTensor(dtype == DType::kF64 ? DType::kF64 : DType::kF32,
                   Shape({3, 2}), {0, 0, 10, 20, 7, 8});
    ASSERT_THAT(EmbeddingBackward(Stream(), tokens, dx, dtable), IsOk());
    EXPECT_THAT(Doubles(dtable), ElementsAre(3, 4, 16, 28, 7, 8));
  }
}

TEST(EmbeddingTest, WideRowsAreSplitWithoutGaps) {
  const Tensor tokens = MakeTensor(Shape({2}), {0, 0});
  const Tensor dx =
      MakeTensor(DType::kF32, Shape({2, 131}), std::vector<double>(262, 1.0));
  const Tensor dtable = MakeZeros(DType::kF32, Shape({1, 131}));
  ASSERT_THAT(EmbeddingBackward(Stream(), tokens, dx, dtable), IsOk());
  EXPECT_EQ(Doubles(dtable), std::vector<double>(131, 2.0));
}

TEST(EmbeddingTest, NoTokensIsNoWork) {
  const Tensor table = MakeZeros(DType::kF32, Shape({3, 2}));
  const Tensor tokens = MakeTensor(Shape({0}), {});
  const Tensor x = MakeZeros(DType::kF32, Shape({0, 2}));
  EXPECT_THAT(EmbeddingForward(Stream(), tokens, table, x), IsOk());
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

TEST(EmbeddingTest, RefusesShapesThatDoNotFit) {
  const Tensor table = MakeZeros(DType::kF32, Shape({3, 2}));
  const Tensor tokens = MakeTensor(Shape({1}), {0});
  EXPECT_THAT(
      EmbeddingForward(Stream(), tokens, table,
                       MakeZeros(DType::kF32, Shape({1, 3}))),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f32 [1, 3]")));
  EXPECT_THAT(EmbeddingBackward(Stream(), tokens,
                                MakeZeros(DType::kBf16, Shape({1, 2})),
                                MakeZeros(DType::kBf16, Shape({3, 2}))),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace octet::models
