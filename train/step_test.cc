// SPDX-License-Identifier: Apache-2.0

#include "train/step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::train {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;

constexpr int64_t kVocab = 256;
constexpr int64_t kLength = 8;

// One row of 256 logits, the same for every position: a unigram model, whose
// loss and gradient are written down in a few lines.
class UnigramStore : public fsdp::ParamStore {
 public:
  UnigramStore() : master_(kVocab), gradient_(kVocab) {
    for (int i = 0; i < kVocab; ++i) master_[i] = 0.01f * std::sin(i);
    fsdp::ParamShard shard;
    shard.name = "logits";
    shard.master = TensorView::Of(absl::MakeSpan(master_), DType::kF32);
    shard.gradient = TensorView::Of(absl::MakeSpan(gradient_), DType::kF32);
    shards_.push_back(shard);
  }
  absl::Span<const fsdp::UnitSpec> units() const override { return {}; }
  absl::StatusOr<absl::Span<const TensorView>> Acquire(int64_t) override {
    return absl::UnimplementedError("shards only");
  }
  absl::Status Release(int64_t) override { return absl::OkStatus(); }
  absl::StatusOr<fsdp::UnitGradients> Gradients(int64_t) override {
    return absl::UnimplementedError("shards only");
  }
  absl::Status Reduce(int64_t) override { return absl::OkStatus(); }
  absl::Span<const fsdp::ParamShard> shards() const override { return shards_; }
  absl::Status ZeroGradients() override {
    std::fill(gradient_.begin(), gradient_.end(), 0.0f);
    return absl::OkStatus();
  }
  absl::Status WeightsChanged() override { return absl::OkStatus(); }
  int64_t version() const override { return 0; }

  // The summed loss; adds scale times its gradient unless scale is 0.
  double Run(const TensorView& targets, double scale) {
    double normaliser = 0;
    for (const float x : master_) normaliser += std::exp(x);
    double loss = 0;
    for (int64_t i = 0; i < targets.num_elements(); ++i) {
      const int32_t target = targets.as<int32_t>()[i];
      loss += std::log(normaliser) - master_[target];
      for (int j = 0; scale != 0 && j < kVocab; ++j) {
        gradient_[j] += static_cast<float>(
            scale * (std::exp(master_[j]) / normaliser - (j == target)));
      }
    }
    return loss;
  }

  std::vector<float>& master() { return master_; }
  const std::vector<float>& gradient() const { return gradient_; }

 private:
  std::vector<float> master_;
  std::vector<float> gradient_;
  std::vector<fsdp::ParamShard> shards_;
};

// A store, its data and how often the histories rolled or were dropped.
struct Fixture {
  Fixture(int64_t batch, int64_t micro_batches) {
    options.local_batch_size = batch;
    options.micro_batches = micro_batches;
    options.seq_len = kLength;
    options.lr = 0.05;
    options.schedule.steps = 10;
    const std::string path = ::testing::TempDir() + "/step_test.txt";
    std::string text;
    for (int i = 0; i < 60; ++i) text += "the quick brown fox ";
    std::ofstream(path) << text;
    TokenDataOptions data_options;
    data_options.path = path;
    data_options.seq_len = kLength;
    data_options.vocab_size = kVocab;
    data = std::make_unique<TokenData>(*TokenData::Open(data_options));
    model.forward_backward = [this](const TensorView&,
                                    const TensorView& targets, double scale) {
      const double loss = store.Run(targets, scale);
      return absl::StatusOr<double>(spoil ? std::nan("") : loss);
    };
    model.loss = [this](const TensorView&, const TensorView& targets) {
      return absl::StatusOr<double>(store.Run(targets, 0));
    };
    model.advance_scaling = [this] {
      ++advanced;
      return absl::OkStatus();
    };
    model.discard_scaling = [this] {
      ++discarded;
      return absl::OkStatus();
    };
  }
  absl::StatusOr<Trainer> Make() {
    return Trainer::Create(Stream(), options, model, &store, data.get());
  }

  TrainerOptions options;
  UnigramStore store;
  StepModel model;
  std::unique_ptr<TokenData> data;
  bool spoil = false;
  int advanced = 0;
  int discarded = 0;
};

// Case 97 (karpathy/nanoGPT#206, pytorch/torchtitan#1733).
TEST(Trainer, AccumulationIsTheMeanOverTokens) {
  Fixture whole(4, 1), parts(1, 4);
  OCTET_ASSERT_OK_AND_ASSIGN(Trainer a, whole.Make());
  OCTET_ASSERT_OK_AND_ASSIGN(Trainer b, parts.Make());
  EXPECT_EQ(a.tokens_per_step(), b.tokens_per_step());
  for (int i = 0; i < 3; ++i) {
    OCTET_ASSERT_OK_AND_ASSIGN(const StepResult x, a.Step());
    OCTET_ASSERT_OK_AND_ASSIGN(const StepResult y, b.Step());
    EXPECT_NEAR(x.loss, y.loss, 1e-7);
    EXPECT_NEAR(x.grad_norm, y.grad_norm, 1e-6);
    for (int j = 0; j < kVocab; ++j) {
      ASSERT_NEAR(whole.store.gradient()[j], parts.store.gradient()[j], 1e-7);
    }
  }
  EXPECT_EQ(a.state().sample_index, 12);
  EXPECT_EQ(b.state().sample_index, 12);
}

// Case 97 (ByteDance-Seed/VeOmni#963): samples whose gradients and losses are 1
// and 3, in one go and one after the other. A sum would be 4.
TEST(Trainer, AccumulationOfOneAndThreeIsTwo) {
  for (const int64_t micro_batches : {1, 2}) {
    Fixture f(2 / micro_batches, micro_batches);
    double next = 1.0;
    f.model.forward_backward = [&](const TensorView& tokens, const TensorView&,
                                   double scale) -> absl::StatusOr<double> {
      double loss = 0;
      for (int64_t row = 0; row < tokens.shape().dim(0); ++row) {
        f.store.shards()[0].gradient.as<float>()[0] +=
            static_cast<float>(scale * kLength * next);
        loss += kLength * next;
        next += 2.0;
      }
      return loss;
    };
    OCTET_ASSERT_OK_AND_ASSIGN(Trainer trainer, f.Make());
    OCTET_ASSERT_OK_AND_ASSIGN(const StepResult result, trainer.Step());
    EXPECT_DOUBLE_EQ(result.loss, 2.0) << micro_batches;
    EXPECT_NEAR(result.grad_norm, 2.0, 1e-6) << micro_batches;
  }
}

TEST(Trainer, LearnsAndReportsTheSchedule) {
  Fixture f(4, 1);
  f.options.schedule.warmup_steps = 2;
  OCTET_ASSERT_OK_AND_ASSIGN(Trainer trainer, f.Make());
  OCTET_ASSERT_OK_AND_ASSIGN(const double before, trainer.ValidationLoss(-1));
  double last = 0;
  for (int i = 0; i < 10; ++i) {
    OCTET_ASSERT_OK_AND_ASSIGN(const StepResult result, trainer.Step());
    if (i == 0) {
      EXPECT_NEAR(result.loss, std::log(256), 0.1);
      EXPECT_DOUBLE_EQ(result.lr, 0.025);
    }
    last = result.loss;
  }
  OCTET_ASSERT_OK_AND_ASSIGN(const double after, trainer.ValidationLoss(1));
  EXPECT_LT(last, 5.45);
  EXPECT_LT(after, before - 0.1);
  EXPECT_EQ(f.advanced, 10);
  EXPECT_EQ(f.discarded, 2);  // the evaluations
}

TEST(Trainer, FiveAndFiveStepsAreTenBitForBit) {
  Fixture straight(2, 2), first(2, 2), second(2, 2);
  OCTET_ASSERT_OK_AND_ASSIGN(Trainer a, straight.Make());
  OCTET_ASSERT_OK_AND_ASSIGN(Trainer b, first.Make());
  OCTET_ASSERT_OK_AND_ASSIGN(Trainer c, second.Make());
  std::vector<double> expected, actual;
  for (int i = 0; i < 10; ++i) expected.push_back(a.Step()->loss);
  for (int i = 0; i < 5; ++i) actual.push_back(b.Step()->loss);
  second.store.master() = first.store.master();
  for (const auto member : {&AdamWTensors::m, &AdamWTensors::v}) {
    ASSERT_THAT(Copy(Stream(), b.adamw().tensors()[0].*member,
                     c.adamw().tensors()[0].*member),
                IsOk());
  }
  c.set_state(b.state());
  for (int i = 0; i < 5; ++i) actual.push_back(c.Step()->loss);
  EXPECT_EQ(actual, expected);
  EXPECT_EQ(second.store.master(), straight.store.master());
}

TEST(Trainer, ANonFiniteStepChangesNothing) {
  Fixture f(2, 1);
  OCTET_ASSERT_OK_AND_ASSIGN(Trainer trainer, f.Make());
  ASSERT_THAT(trainer.Step(), IsOk());
  const std::vector<float> weights = f.store.master();
  const AdamWTensors& t = trainer.adamw().tensors()[0];
  const std::vector<float> m(t.m.as<float>(), t.m.as<float>() + kVocab);
  f.spoil = true;
  OCTET_ASSERT_OK_AND_ASSIGN(const StepResult bad, trainer.Step());
  EXPECT_FALSE(bad.is_finite);
  EXPECT_TRUE(std::isnan(bad.loss));
  EXPECT_EQ(f.store.master(), weights);
  EXPECT_EQ(std::memcmp(m.data(), t.m.data(), kVocab * sizeof(float)), 0);
  EXPECT_EQ(trainer.state().step, 2);
  EXPECT_EQ(trainer.state().optimizer_step, 1);
  EXPECT_EQ(trainer.state().sample_index, 4);
  EXPECT_EQ(f.advanced, 1);
  EXPECT_EQ(f.discarded, 1);
  f.spoil = false;
  OCTET_ASSERT_OK_AND_ASSIGN(const StepResult good, trainer.Step());
  EXPECT_TRUE(good.is_finite);
  EXPECT_NE(f.store.master(), weights);
}

TEST(Trainer, RefusesBadOptions) {
  Fixture f(0, 1);
  EXPECT_THAT(f.Make(), StatusIs(absl::StatusCode::kInvalidArgument));
  Fixture many(1000, 1);
  OCTET_ASSERT_OK_AND_ASSIGN(Trainer trainer, many.Make());
  EXPECT_THAT(trainer.ValidationLoss(-1),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace octet::train
