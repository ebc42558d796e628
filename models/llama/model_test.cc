// SPDX-License-Identifier: Apache-2.0
#include "models/llama/model.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/cross_entropy.h"
#include "models/layers/test_tensors.h"
#include "models/llama/test_model.h"
#include "testing/gradient_check.h"
#include "testing/status_matchers.h"

namespace octet::models {
namespace {

using octet::testing::GradientMatches;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::HasSubstr;

// Every parameter of the whole model, against differences in double.
void CheckGradients(const LlamaConfig& config) {
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel test,
                             MakeTestModel(config, "bf16", DType::kF64, 13));
  // The initial weights are so small that attention does almost nothing.
  for (const fsdp::ParamShard& shard : test.store->shards()) {
    const std::vector<double> noise =
        NormalValues(shard.master.num_elements(), 9, 0.2);
    for (size_t i = 0; i < noise.size(); ++i) {
      shard.master.as<double>()[i] += noise[i];
    }
  }
  ASSERT_THAT(test.store->WeightsChanged(), IsOk());
  constexpr double kScale = 0.375;
  ASSERT_THAT(test.Run(kScale), IsOk());
  for (const fsdp::ParamShard& shard : test.store->shards()) {
    const auto loss = [&] {
      EXPECT_THAT(test.store->WeightsChanged(), IsOk());
      const auto sum = test.model->Loss(test.tokens, test.targets);
      EXPECT_THAT(sum, IsOk());
      return kScale * sum.value_or(NAN);
    };
    octet::testing::GradientCheckOptions options;
    options.max_elements = 12;
    options.tolerance = 1e-6;
    EXPECT_TRUE(GradientMatches(
        loss,
        absl::MakeSpan(shard.master.as<double>(), shard.master.num_elements()),
        Doubles(shard.gradient), options))
        << shard.name;
  }
}

TEST(LlamaTest, GradientsMatchDifferences) { CheckGradients(TestConfig()); }

TEST(LlamaTest, GradientsMatchDifferencesTiedAndScaled) {
  LlamaConfig config = TestConfig();
  config.tie_word_embeddings = true;
  config.num_kv_heads = 1;
  config.rope_scaling = RopeScaling{8.0, 1.0, 4.0, 8};
  CheckGradients(config);
}

TEST(LlamaTest, NarrowComputeAgreesWithDouble) {
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel f64,
                             MakeTestModel(TestConfig(), "bf16", DType::kF64));
  OCTET_ASSERT_OK_AND_ASSIGN(const double exact, f64.Run());
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel f32,
                             MakeTestModel(TestConfig(), "bf16", DType::kF32));
  OCTET_ASSERT_OK_AND_ASSIGN(const double f32_loss, f32.Run());
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel bf16,
                             MakeTestModel(TestConfig(), "bf16", DType::kBf16));
  OCTET_ASSERT_OK_AND_ASSIGN(const double bf16_loss, bf16.Run());
  EXPECT_NEAR(f32_loss / exact, 1.0, 1e-6);
  EXPECT_NEAR(bf16_loss / exact, 1.0, 2e-3);
  EXPECT_LT(ErrorOf(f32.Gradients(), f64.Gradients()), 1e-5);
  EXPECT_LT(ErrorOf(bf16.Gradients(), f64.Gradients()), 0x1p-6);
}

TEST(LlamaTest, TheSizeOfAChunkChangesNoLoss) {
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel whole,
                             MakeTestModel(TestConfig(), "bf16", DType::kF32));
  OCTET_ASSERT_OK_AND_ASSIGN(const double expected, whole.Run());
  for (const int64_t chunk : {1, 7, 16, 1000}) {
    OCTET_ASSERT_OK_AND_ASSIGN(
        TestModel test,
        MakeTestModel(TestConfig(), "bf16", DType::kF32, 24, chunk));
    OCTET_ASSERT_OK_AND_ASSIGN(const double loss, test.Run());
    EXPECT_NEAR(loss / expected, 1.0, 1e-7) << chunk;
    EXPECT_LT(ErrorOf(test.Gradients(), whole.Gradients()), 1e-6) << chunk;
  }
}

TEST(LlamaTest, GradientsOfBatchesAddUp) {
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel test,
                             MakeTestModel(TestConfig(), "bf16", DType::kF32));
  OCTET_ASSERT_OK_AND_ASSIGN(const double loss, test.Run(0.5));
  const std::vector<double> expected = test.Gradients();
  ASSERT_THAT(test.store->ZeroGradients(), IsOk());
  double sum = 0.0;
  for (int64_t row = 0; row < 2; ++row) {
    OCTET_ASSERT_OK_AND_ASSIGN(
        const double part,
        test.model->ForwardBackward(test.tokens.view().RowSlice(row, 1),
                                    test.targets.view().RowSlice(row, 1), 0.5));
    sum += part;
  }
  EXPECT_NEAR(sum / loss, 1.0, 1e-6);
  EXPECT_LT(ErrorOf(test.Gradients(), expected), 1e-6);
}

TEST(LlamaTest, TheSameCallGivesTheSameBits) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel test, MakeTestModel(TestConfig(), "tensorwise", DType::kBf16));
  OCTET_ASSERT_OK_AND_ASSIGN(const double first, test.Run());
  const std::vector<double> gradients = test.Gradients();
  ASSERT_THAT(test.store->ZeroGradients(), IsOk());
  // Another shape in between uses the same memory.
  ASSERT_THAT(test.model->Loss(test.tokens.view().RowSlice(0, 1),
                               test.targets.view().RowSlice(0, 1)),
              IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const double second, test.Run());
  EXPECT_EQ(first, second);
  EXPECT_EQ(gradients, test.Gradients());
}

TEST(LlamaTest, LossAloneIsTheSameAndLeavesGradients) {
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel test,
                             MakeTestModel(TestConfig(), "bf16", DType::kBf16));
  OCTET_ASSERT_OK_AND_ASSIGN(const double loss,
                             test.model->Loss(test.tokens, test.targets));
  for (const double g : test.Gradients()) ASSERT_EQ(g, 0.0);
  OCTET_ASSERT_OK_AND_ASSIGN(const double with_gradients, test.Run());
  EXPECT_EQ(loss, with_gradients);
}

TEST(LlamaTest, LogitsGiveTheLoss) {
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel test,
                             MakeTestModel(TestConfig(), "bf16", DType::kF32));
  const Tensor logits = MakeZeros(DType::kF32, Shape({2, 24, 48}));
  ASSERT_THAT(test.model->Logits(test.tokens, logits), IsOk());
  const Tensor losses = MakeZeros(DType::kF64, Shape({48}));
  ASSERT_THAT(CrossEntropy(Stream(), {logits.view().Reshaped(Shape({48, 48})),
                                      test.targets.view().Reshaped(Shape({48})),
                                      1.0,
                                      losses,
                                      {}}),
              IsOk());
  double sum = 0.0;
  for (const double loss : Doubles(losses)) sum += loss;
  OCTET_ASSERT_OK_AND_ASSIGN(const double loss,
                             test.model->Loss(test.tokens, test.targets));
  EXPECT_EQ(loss, sum);
}

TEST(LlamaTest, WeightsAreCastAgainWhenTheyChange) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      TestModel test, MakeTestModel(TestConfig(), "rowwise", DType::kF32));
  OCTET_ASSERT_OK_AND_ASSIGN(const double before, test.Run());
  ASSERT_THAT(test.Descend(1e-3), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const double after, test.Run());
  EXPECT_LT(after, before);
}

TEST(LlamaTest, NoTokensIsNoLoss) {
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel test,
                             MakeTestModel(TestConfig(), "bf16", DType::kF32));
  const Tensor none = MakeTensor(Shape({0, 8}), {});
  OCTET_ASSERT_OK_AND_ASSIGN(const double loss,
                             test.model->ForwardBackward(none, none, 1.0));
  EXPECT_EQ(loss, 0.0);
}

// Case 82 (karpathy/llama2.c#145): before the device sees it.
TEST(LlamaTest, NamesIdsOutsideTheVocabulary) {
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel test,
                             MakeTestModel(TestConfig(), "bf16", DType::kF32));
  test.tokens.as<int32_t>()[24 + 5] = 48;
  EXPECT_THAT(test.Run(), StatusIs(absl::StatusCode::kOutOfRange,
                                   HasSubstr("tokens[1, 5] is 48")));
  test.tokens.as<int32_t>()[24 + 5] = 0;
  test.targets.as<int32_t>()[3] = -1;
  EXPECT_THAT(test.Run(), StatusIs(absl::StatusCode::kOutOfRange,
                                   HasSubstr("targets[0, 3] is -1")));
}

TEST(LlamaTest, RefusesShapesThatDoNotFit) {
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel test,
                             MakeTestModel(TestConfig(), "bf16", DType::kF32));
  EXPECT_THAT(test.model->Loss(test.tokens, MakeTensor(Shape({1}), {0})),
              StatusIs(absl::StatusCode::kInvalidArgument));
  const Tensor flat = MakeTensor(Shape({2}), {0, 0});
  EXPECT_THAT(test.model->Loss(flat, flat),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("[batch, length]")));
  const Tensor longer = MakeZeros(DType::kI32, Shape({1, 129}));
  EXPECT_THAT(test.model->Loss(longer, longer),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("128")));
  EXPECT_THAT(test.model->Logits(test.tokens,
                                 MakeZeros(DType::kBf16, Shape({2, 24, 48}))),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(LlamaTest, CreateRefusesWhatCannotBe) {
  OCTET_ASSERT_OK_AND_ASSIGN(TestModel test,
                             MakeTestModel(TestConfig(), "bf16", DType::kF32));
  const auto create = [&](const LlamaConfig& config,
                          const LlamaOptions& options) {
    return Llama::Create(Stream(), config, options, test.store.get()).status();
  };
  LlamaConfig bad = TestConfig();
  bad.num_kv_heads = 3;
  EXPECT_THAT(create(bad, {}), StatusIs(absl::StatusCode::kInvalidArgument));
  LlamaConfig other = TestConfig();
  other.vocab_size = 64;
  EXPECT_THAT(create(other, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  LlamaOptions f16;
  f16.compute_dtype = DType::kF16;
  EXPECT_THAT(create(TestConfig(), f16),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f16")));
  EXPECT_THAT(
      MakeTestModel(TestConfig(), "tensorwise", DType::kF64),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tensorwise")));
}

}  // namespace
}  // namespace octet::models
