// SPDX-License-Identifier: Apache-2.0
#include "models/layers/cross_entropy.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "testing/gradient_check.h"
#include "testing/status_matchers.h"

namespace octet::models {
namespace {

using octet::testing::GradientMatches;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int64_t kRows = 6;
constexpr int64_t kVocab = 53;
const Shape kShape({kRows, kVocab});
const std::vector<int32_t> kTargets = {0, 52, kIgnoreIndex, 7, 7, 30};

struct Result {
  std::vector<double> losses, dlogits;
};

Result RunLoss(const std::vector<double>& values, DType logits_dtype,
               DType gradient, float grad_scale = 0.25f) {
  const Tensor logits = MakeTensor(logits_dtype, kShape, values);
  const Tensor losses = MakeZeros(DType::kF64, Shape({kRows}));
  const Tensor dlogits = MakeZeros(gradient, kShape);
  EXPECT_THAT(
      CrossEntropy(Stream(), {logits, MakeTensor(Shape({kRows}), kTargets),
                              grad_scale, losses, dlogits}),
      IsOk());
  return {Doubles(losses), Doubles(dlogits)};
}

TEST(CrossEntropyTest, MatchesTheFormulaAndIgnoresRows) {
  const std::vector<double> values = NormalValues(kRows * kVocab, 1, 3.0);
  std::vector<double> expected(kRows, 0.0);
  for (int64_t i = 0; i < kRows; ++i) {
    if (kTargets[i] == kIgnoreIndex) continue;
    double sum = 0.0;
    for (int64_t j = 0; j < kVocab; ++j) {
      sum += std::exp(values[i * kVocab + j]);
    }
    expected[i] = std::log(sum) - values[i * kVocab + kTargets[i]];
  }
  EXPECT_LT(ErrorOf(RunLoss(values, DType::kF64, DType::kF64).losses, expected),
            1e-14);
  const Result f32 = RunLoss(values, DType::kF32, DType::kF32);
  EXPECT_LT(ErrorOf(f32.losses, expected), 1e-6);
  EXPECT_EQ(f32.losses[2], 0.0);
  for (int64_t j = 0; j < kVocab; ++j) {
    EXPECT_EQ(f32.dlogits[2 * kVocab + j], 0.0);
  }
}

TEST(CrossEntropyTest, GradientsMatchDifferencesTimesTheScale) {
  std::vector<double> values = NormalValues(kRows * kVocab, 1, 3.0);
  const Result exact = RunLoss(values, DType::kF64, DType::kF64);
  const auto loss = [&] {
    const std::vector<double> losses =
        RunLoss(values, DType::kF64, DType::kF64).losses;
    return 0.25 * std::accumulate(losses.begin(), losses.end(), 0.0);
  };
  EXPECT_TRUE(GradientMatches(loss, absl::MakeSpan(values), exact.dlogits));
  EXPECT_LT(
      ErrorOf(RunLoss(values, DType::kF32, DType::kF32).dlogits, exact.dlogits),
      1e-6);
  EXPECT_LT(ErrorOf(RunLoss(values, DType::kF32, DType::kBf16).dlogits,
                    exact.dlogits),
            0x1p-8);
}

TEST(CrossEntropyTest, InPlaceGivesTheSameBits) {
  const std::vector<double> values = NormalValues(kRows * kVocab, 1, 3.0);
  const Tensor logits = MakeTensor(DType::kF32, kShape, values);
  const Tensor losses = MakeZeros(DType::kF64, Shape({kRows}));
  ASSERT_THAT(
      CrossEntropy(Stream(), {logits, MakeTensor(Shape({kRows}), kTargets),
                              0.25f, losses, logits}),
      IsOk());
  const Result apart = RunLoss(values, DType::kF32, DType::kF32);
  EXPECT_EQ(Doubles(logits), apart.dlogits);
  EXPECT_EQ(Doubles(losses), apart.losses);
}

TEST(CrossEntropyTest, HugeLogitsDoNotOverflowAndNanShows) {
  std::vector<double> values(kRows * kVocab, 0.0);
  values[0] = 1e30;
  values[kVocab] = 1e4;
  values[3 * kVocab + 5] = NAN;
  const Result result = RunLoss(values, DType::kF32, DType::kF32);
  EXPECT_EQ(result.losses[0], 0.0);
  EXPECT_NEAR(result.losses[1], 1e4, 1e-2);
  EXPECT_TRUE(std::isnan(result.losses[3]));
  EXPECT_NEAR(result.losses[4], std::log(53.0), 1e-6);
}

TEST(CrossEntropyTest, LossAloneNeedsNoGradient) {
  const Tensor logits = MakeZeros(DType::kF32, kShape);
  const Tensor losses = MakeZeros(DType::kF64, Shape({kRows}));
  ASSERT_THAT(
      CrossEntropy(
          Stream(),
          {logits, MakeTensor(Shape({kRows}), kTargets), 1.0f, losses, {}}),
      IsOk());
  EXPECT_NEAR(losses.as<double>()[0], std::log(53.0), 1e-6);
}

TEST(CrossEntropyTest, NamesATargetOutsideTheVocabulary) {
  const Tensor logits = MakeZeros(DType::kF32, kShape);
  const Tensor losses = MakeZeros(DType::kF64, Shape({kRows}));
  for (const int32_t bad : {53, -1}) {
    std::vector<int32_t> targets = kTargets;
    targets[4] = bad;
    EXPECT_THAT(
        CrossEntropy(
            Stream(),
            {logits, MakeTensor(Shape({kRows}), targets), 1.0f, losses, {}}),
        StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("target 4 is")));
  }
}

TEST(CrossEntropyTest, RefusesShapesAndDtypesThatDoNotFit) {
  const Tensor logits = MakeZeros(DType::kF32, kShape);
  const Tensor losses = MakeZeros(DType::kF64, Shape({kRows}));
  const Tensor targets = MakeTensor(Shape({kRows}), kTargets);
  EXPECT_THAT(
      CrossEntropy(Stream(),
                   {logits, MakeTensor(Shape({1}), {0}), 1.0f, losses, {}}),
      StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(CrossEntropy(Stream(), {logits, targets, 1.0f, losses,
                                      MakeZeros(DType::kF64, kShape)}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      CrossEntropy(Stream(),
                   {logits, targets, 1.0f, losses,
                    TensorView(logits.as<float>(), DType::kBf16, kShape)}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("shares")));
}

}  // namespace
}  // namespace octet::models
