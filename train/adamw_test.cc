// SPDX-License-Identifier: Apache-2.0

#include "train/adamw.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::train {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

// Holds shards alone; counts the calls that tell of changed weights.
class ShardsOnlyStore : public fsdp::ParamStore {
 public:
  void Add(std::vector<float>* master, std::vector<float>* gradient) {
    fsdp::ParamShard shard;
    shard.master = TensorView::Of(absl::MakeSpan(*master), DType::kF32);
    shard.gradient = TensorView::Of(absl::MakeSpan(*gradient), DType::kF32);
    shard.global_shape = shard.master.shape();
    shards_.push_back(shard);
  }
  absl::Span<const fsdp::UnitSpec> units() const override { return {}; }
  absl::StatusOr<absl::Span<const TensorView>> Acquire(int64_t) override {
    return absl::UnimplementedError("shards only");
  }
  absl::Status Release(int64_t) override {
    return absl::UnimplementedError("shards only");
  }
  absl::StatusOr<fsdp::UnitGradients> Gradients(int64_t) override {
    return absl::UnimplementedError("shards only");
  }
  absl::Status Reduce(int64_t) override { return absl::OkStatus(); }
  absl::Span<const fsdp::ParamShard> shards() const override { return shards_; }
  absl::Status ZeroGradients() override { return absl::OkStatus(); }
  absl::Status WeightsChanged() override {
    ++version_;
    return absl::OkStatus();
  }
  int64_t version() const override { return version_; }

 private:
  std::vector<fsdp::ParamShard> shards_;
  int64_t version_ = 0;
};

TEST(AdamW, FollowsTheFormulaInDouble) {
  const int64_t n = 40003;  // several grains and a tail
  std::vector<float> p(n), g(n);
  std::vector<double> ep(n), em(n), ev(n);
  for (int64_t i = 0; i < n; ++i) ep[i] = p[i] = std::cos(0.37f * i);
  ShardsOnlyStore store;
  store.Add(&p, &g);
  const AdamWOptions o;
  OCTET_ASSERT_OK_AND_ASSIGN(AdamW adamw, AdamW::Create(Stream(), o, &store));
  const double scale = 0.25;
  for (int t = 1; t <= 5; ++t) {
    const double lr = 1e-2 / t;
    for (int64_t i = 0; i < n; ++i) g[i] = std::sin(0.11f * i * t);
    ASSERT_THAT(adamw.Step(Stream(), lr, scale), IsOk());
    for (int64_t i = 0; i < n; ++i) {
      const double e = g[i] * scale;
      ep[i] *= 1 - lr * o.weight_decay;
      em[i] = o.beta1 * em[i] + (1 - o.beta1) * e;
      ev[i] = o.beta2 * ev[i] + (1 - o.beta2) * e * e;
      ep[i] -= lr * (em[i] / (1 - std::pow(o.beta1, t))) /
               (std::sqrt(ev[i] / (1 - std::pow(o.beta2, t))) + o.eps);
    }
    EXPECT_EQ(store.version(), t);
    EXPECT_EQ(adamw.step(), t);
  }
  double worst = 0;
  for (int64_t i = 0; i < n; ++i) {
    worst = std::max(worst, std::abs(p[i] - ep[i]));
  }
  EXPECT_LT(worst, 2e-6);
}

TEST(AdamW, FirstStepMovesByTheLearningRate) {
  std::vector<float> p = {1, 1}, g = {1e-3f, -5};
  std::vector<float> none_p, none_g;
  ShardsOnlyStore store;
  store.Add(&none_p, &none_g);
  store.Add(&p, &g);
  AdamWOptions o;
  o.weight_decay = 0;
  OCTET_ASSERT_OK_AND_ASSIGN(AdamW adamw, AdamW::Create(Stream(), o, &store));
  ASSERT_THAT(adamw.Step(Stream(), 0.125, 1), IsOk());
  EXPECT_NEAR(p[0], 0.875, 2e-6);  // eps is 1e-5 of this gradient's size
  EXPECT_NEAR(p[1], 1.125, 1e-6);
}

TEST(AdamW, ResumesBitForBit) {
  std::vector<float> p(1000), g(1000), q, h(1000);
  for (int i = 0; i < 1000; ++i) p[i] = std::cos(i), g[i] = std::sin(i);
  ShardsOnlyStore store, resumed_store;
  store.Add(&p, &g);
  OCTET_ASSERT_OK_AND_ASSIGN(AdamW adamw, AdamW::Create(Stream(), {}, &store));
  ASSERT_THAT(adamw.Step(Stream(), 0.1, 1), IsOk());
  q = p;
  h = g;
  resumed_store.Add(&q, &h);
  OCTET_ASSERT_OK_AND_ASSIGN(AdamW resumed,
                             AdamW::Create(Stream(), {}, &resumed_store));
  resumed.set_step(adamw.step());
  for (const auto member : {&AdamWTensors::m, &AdamWTensors::v}) {
    ASSERT_THAT(Copy(Stream(), adamw.tensors()[0].*member,
                     resumed.tensors()[0].*member),
                IsOk());
  }
  ASSERT_THAT(adamw.Step(Stream(), 0.1, 1), IsOk());
  ASSERT_THAT(resumed.Step(Stream(), 0.1, 1), IsOk());
  EXPECT_EQ(std::memcmp(p.data(), q.data(), 4000), 0);
}

TEST(AdamW, MomentsHaveTheStatesDtype) {
  std::vector<float> p(3), g(3);
  ShardsOnlyStore store;
  store.Add(&p, &g);
  AdamWOptions o;
  o.state_dtype = DType::kBf16;
  OCTET_ASSERT_OK_AND_ASSIGN(AdamW adamw, AdamW::Create(Stream(), o, &store));
  EXPECT_EQ(adamw.tensors()[0].m.dtype(), DType::kBf16);
  EXPECT_EQ(adamw.tensors()[0].v.dtype(), DType::kBf16);
  o.state_dtype = DType::kF16;
  EXPECT_THAT(
      AdamW::Create(Stream(), o, &store),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("state_dtype")));
}

TEST(AdamW, RefusesBadOptions) {
  ShardsOnlyStore store;
  AdamWOptions o;
  o.beta2 = 1;
  EXPECT_THAT(
      AdamW::Create(Stream(), o, &store),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("beta2 is 1")));
  o = {};
  o.weight_decay = -1;
  EXPECT_THAT(AdamW::Create(Stream(), o, &store),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace octet::train
