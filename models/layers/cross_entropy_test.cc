// SPDX-License-Identifier: Apache-2.0
#include "models/layers/cross_entropy.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "testing/gradient_check.h"
#include "testing/status_matchers.h"
#include "testing/test_device.h"

namespace octet::models {
namespace {

using octet::testing::GradientMatches;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using octet::testing::ToDevice;
using octet::testing::ToHost;
using ::testing::HasSubstr;

constexpr int64_t kRows = 6;
constexpr int64_t kVocab = 53;
const Shape kShape({kRows, kVocab});
const std::vector<int32_t> kTargets = {0, 52, kIgnoreIndex, 7, 7, 30};

struct Result {
  std::vector<double> losses, dlogits;
};

// On the stream's device, every byte ones: NaN.
Tensor Poisoned(const Stream& stream, DType dtype, const Shape& shape) {
  const Tensor host = MakeZeros(dtype, shape);
  std::memset(host.as<char>(), 0xff, host.view().num_bytes());
  return ToDevice(stream, host).value();
}

Result RunLoss(const Stream& stream, const std::vector<double>& values,
               DType logits_dtype, DType gradient,
               const std::vector<int32_t>& targets = kTargets,
               const Shape& shape = kShape, double grad_scale = 0.25) {
  const Tensor logits =
      ToDevice(stream, MakeTensor(logits_dtype, shape, values)).value();
  const Shape rows({shape.dim(0)});
  const Tensor device_targets =
      ToDevice(stream, MakeTensor(rows, targets)).value();
  const Tensor losses = Poisoned(stream, DType::kF64, rows);
  const Tensor dlogits = Poisoned(stream, gradient, shape);
  EXPECT_THAT(CrossEntropy(stream, {logits, device_targets, grad_scale, losses,
                                    dlogits}),
              IsOk());
  return {Doubles(ToHost(stream, losses).value()),
          Doubles(ToHost(stream, dlogits).value())};
}

TEST(CrossEntropyTest, MatchesTheFormulaAndIgnoresRows) {
  OCTET_TEST_STREAM(stream);
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
  const Result exact = RunLoss(Stream(), values, DType::kF64, DType::kF64);
  EXPECT_LT(ErrorOf(exact.losses, expected), 1e-14);
  const Result f32 = RunLoss(stream, values, DType::kF32, DType::kF32);
  EXPECT_LT(ErrorOf(f32.losses, expected), 1e-6);
  EXPECT_EQ(f32.losses[2], 0.0);
  for (int64_t j = 0; j < kVocab; ++j) {
    EXPECT_EQ(f32.dlogits[2 * kVocab + j], 0.0);
  }
}

TEST(CrossEntropyTest, GradientsMatchDifferencesTimesTheScale) {
  OCTET_TEST_STREAM(stream);
  std::vector<double> values = NormalValues(kRows * kVocab, 1, 3.0);
  const Result exact = RunLoss(Stream(), values, DType::kF64, DType::kF64);
  const auto loss = [&] {
    const std::vector<double> losses =
        RunLoss(Stream(), values, DType::kF64, DType::kF64).losses;
    return 0.25 * std::accumulate(losses.begin(), losses.end(), 0.0);
  };
  EXPECT_TRUE(GradientMatches(loss, absl::MakeSpan(values), exact.dlogits));
  const Result f32 = RunLoss(stream, values, DType::kF32, DType::kF32);
  EXPECT_LT(ErrorOf(f32.dlogits, exact.dlogits), 1e-6);
  const Result bf16 = RunLoss(stream, values, DType::kF32, DType::kBf16);
  EXPECT_LT(ErrorOf(bf16.dlogits, exact.dlogits), 0x1p-8);
}

// Rows in one block, in clusters of two, four and eight, of odd length, and too
// long for a cluster: each against double, and twice the same bits.
TEST(CrossEntropyTest, AnyVocabulary) {
  OCTET_TEST_STREAM(stream);
  constexpr int64_t kFew = 3;
  for (const int64_t vocab :
       {1, 4, 2048, 16384, 32000, 50257, 65540, 128256, 131076}) {
    const Shape shape({kFew, vocab});
    std::vector<double> values = NormalValues(kFew * vocab, vocab, 4.0);
    const std::vector<int32_t> targets = {0, static_cast<int32_t>(vocab - 1),
                                          static_cast<int32_t>(vocab / 3)};
    // The largest of the second row is its target: the loss is small.
    values[2 * vocab - 1] = 30.0;
    for (double& v : values) v = static_cast<float>(v);
    const Result exact =
        RunLoss(Stream(), values, DType::kF64, DType::kF64, targets, shape);
    for (const DType gradient : {DType::kF32, DType::kBf16}) {
      const double tolerance = gradient == DType::kF32 ? 4e-6 : 0x1p-8;
      const Result result =
          RunLoss(stream, values, DType::kF32, gradient, targets, shape);
      for (int64_t i = 0; i < kFew; ++i) {
        EXPECT_NEAR(result.losses[i], exact.losses[i],
                    2e-6 * (1.0 + std::abs(exact.losses[i])))
            << vocab << " " << i;
      }
      EXPECT_LE(ErrorOf(result.dlogits, exact.dlogits), tolerance) << vocab;
      const Result again =
          RunLoss(stream, values, DType::kF32, gradient, targets, shape);
      EXPECT_EQ(again.losses, result.losses);
      EXPECT_EQ(again.dlogits, result.dlogits);
    }
  }
}

TEST(CrossEntropyTest, InPlaceGivesTheSameBits) {
  OCTET_TEST_STREAM(stream);
  for (const int64_t vocab : {53, 256, 40000, 140000}) {
    const Shape shape({kRows, vocab});
    const std::vector<double> values = NormalValues(kRows * vocab, 1, 3.0);
    const Tensor logits =
        ToDevice(stream, MakeTensor(DType::kF32, shape, values)).value();
    const Tensor targets =
        ToDevice(stream, MakeTensor(Shape({kRows}), kTargets)).value();
    const Tensor losses = Poisoned(stream, DType::kF64, Shape({kRows}));
    ASSERT_THAT(CrossEntropy(stream, {logits, targets, 0.25, losses, logits}),
                IsOk());
    const Result apart =
        RunLoss(stream, values, DType::kF32, DType::kF32, kTargets, shape);
    EXPECT_EQ(Doubles(ToHost(stream, logits).value()), apart.dlogits);
    EXPECT_EQ(Doubles(ToHost(stream, losses).value()), apart.losses);
  }
}

TEST(CrossEntropyTest, HugeLogitsDoNotOverflowAndNanShows) {
  OCTET_TEST_STREAM(stream);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const int64_t vocab : {53, 60, 20000}) {
    std::vector<double> values(kRows * vocab, 0.0);
    values[0] = 1e30;
    values[vocab] = 1e4;
    values[3 * vocab + 5] = NAN;
    for (int64_t j = 1; j < vocab; j += 2) values[4 * vocab + j] = -kInfinity;
    values[5 * vocab + 1] = kInfinity;
    const std::vector<int32_t> targets = {0, 52, kIgnoreIndex, 7, 8, 30};
    const Result result = RunLoss(stream, values, DType::kF32, DType::kF32,
                                  targets, Shape({kRows, vocab}));
    EXPECT_EQ(result.losses[0], 0.0);
    EXPECT_NEAR(result.losses[1], 1e4, 1e-2);
    EXPECT_TRUE(std::isnan(result.losses[3]));
    EXPECT_NEAR(result.losses[4], std::log((vocab + 1) / 2), 1e-5);
    EXPECT_EQ(result.dlogits[4 * vocab + 1], 0.0);
    EXPECT_TRUE(std::isnan(result.losses[5]));
    for (const int64_t row : {3, 5}) {
      EXPECT_TRUE(std::isnan(result.dlogits[row * vocab + 1]));
    }
  }
}

TEST(CrossEntropyTest, LossAloneNeedsNoGradient) {
  OCTET_TEST_STREAM(stream);
  for (const int64_t vocab : {53, 64}) {
    const Tensor logits =
        ToDevice(stream, MakeZeros(DType::kF32, Shape({kRows, vocab}))).value();
    const Tensor targets =
        ToDevice(stream, MakeTensor(Shape({kRows}), kTargets)).value();
    const Tensor losses = Poisoned(stream, DType::kF64, Shape({kRows}));
    ASSERT_THAT(CrossEntropy(stream, {logits, targets, 1.0, losses, {}}),
                IsOk());
    EXPECT_NEAR(Doubles(ToHost(stream, losses).value())[0], std::log(vocab),
                1e-6);
  }
}

TEST(CrossEntropyTest, NoRows) {
  OCTET_TEST_STREAM(stream);
  EXPECT_THAT(
      RunLoss(stream, {}, DType::kF32, DType::kF32, {}, Shape({0, 8})).losses,
      ::testing::IsEmpty());
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

TEST(CrossEntropyTest, OnAGpuATargetOutsideTheVocabularyIsNan) {
  OCTET_TEST_STREAM(stream);
  if (stream.device().kind == DeviceKind::kCpu) GTEST_SKIP();
  for (const int64_t vocab : {53, 56, 40000}) {
    const std::vector<double> values(kRows * vocab, 0.0);
    const std::vector<int32_t> targets = {
        0, static_cast<int32_t>(vocab), -1, 1 << 30, kIgnoreIndex, 2};
    const Result result = RunLoss(stream, values, DType::kF32, DType::kBf16,
                                  targets, Shape({kRows, vocab}));
    for (int64_t i = 0; i < kRows; ++i) {
      const bool bad = i >= 1 && i <= 3;
      EXPECT_EQ(std::isnan(result.losses[i]), bad);
      for (int64_t j = 0; j < vocab; ++j) {
        ASSERT_EQ(std::isnan(result.dlogits[i * vocab + j]), bad) << i;
      }
    }
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
