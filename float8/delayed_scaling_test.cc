// SPDX-License-Identifier: Apache-2.0

#include "float8/delayed_scaling.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {
namespace {

using octet::testing::FromDoubles;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using octet::testing::ToDevice;
using octet::testing::ToDoubles;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr CastPlan kPlan = {DType::kF8E4M3, Granularity::kTensor,
                            ScaleRounding::kExact};
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Result {
  float scale;
  std::vector<double> codes;  // their values
};

class DelayedScaleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OCTET_TEST_STREAM(stream);
    stream_ = stream;
  }

  Result Cast(DelayedScale* delayed, const std::vector<double>& values,
              const CastPlan& plan = kPlan) {
    const int64_t n = values.size();
    const Tensor in =
        *ToDevice(stream_, *FromDoubles(values, DType::kF32, Shape({1, n})));
    Quantized q;
    EXPECT_THAT(delayed->Cast(stream_, in, plan, CastLayout::kRowMajor, &q),
                IsOk());
    EXPECT_THAT(stream_.Synchronize(), IsOk());
    return {static_cast<float>((*ToDoubles(q.scale))[0]), *ToDoubles(q.data)};
  }

  Stream stream_;
};

DelayedScalingOptions Length(int64_t length) {
  DelayedScalingOptions options;
  options.history_length = length;
  return options;
}

// Case 23 (meta-pytorch/float8_experimental#18).
TEST_F(DelayedScaleTest, FirstUseTakesItsOwnAmax) {
  DelayedScale delayed;
  EXPECT_THAT(*delayed.Save(), IsEmpty());
  const Result first = Cast(&delayed, {0.001, 0.001});
  EXPECT_EQ(first.scale, ScaleFor(0.001f, kPlan.dtype, kPlan.rounding));
  EXPECT_FLOAT_EQ(first.scale, 448000.0f);
  EXPECT_THAT(first.codes, Each(448.0));
}

// Case 24 (NVIDIA/TransformerEngine#567).
TEST_F(DelayedScaleTest, OutlierSaturatesOnceThenCounts) {
  DelayedScale delayed(Length(4));
  ASSERT_THAT(delayed.Restore({1, 1, 1, 1}), IsOk());
  const Result outlier = Cast(&delayed, {1.0, 10.0, -10.0});
  EXPECT_EQ(outlier.scale, 448.0f);
  EXPECT_THAT(outlier.codes, ElementsAre(448.0, 448.0, -448.0));
  ASSERT_THAT(delayed.Advance(), IsOk());
  EXPECT_THAT(*delayed.Save(), ElementsAre(10, 1, 1, 1));
  const Result next = Cast(&delayed, {1.0});
  EXPECT_FLOAT_EQ(next.scale, 44.8f);
}

// Case 28 (NVIDIA/TransformerEngine#1723, #1254): microbatches and
// recomputation see one scale, make one entry.
TEST_F(DelayedScaleTest, OneScaleAndOneEntryAStep) {
  DelayedScale delayed(Length(4));
  ASSERT_THAT(delayed.Restore({2}), IsOk());
  const Result forward = Cast(&delayed, {3.0, 1.0});
  const Result micro = Cast(&delayed, {5.0, 1.0});
  const Result recomputed = Cast(&delayed, {3.0, 1.0});
  EXPECT_EQ(forward.scale, 224.0f);
  EXPECT_EQ(micro.scale, 224.0f);
  EXPECT_EQ(recomputed.scale, forward.scale);
  EXPECT_EQ(recomputed.codes, forward.codes);
  ASSERT_THAT(delayed.Advance(), IsOk());
  EXPECT_THAT(*delayed.Save(), ElementsAre(5, 2, 0, 0));
}

// Case 26 (NVIDIA/TransformerEngine#825): a layer that did not run.
TEST_F(DelayedScaleTest, UnusedTensorKeepsItsHistory) {
  DelayedScale delayed(Length(4));
  ASSERT_THAT(delayed.Restore({2, 0, 0, 0}), IsOk());
  for (int step = 0; step < 5; ++step) {
    ASSERT_THAT(delayed.Advance(), IsOk());
  }
  EXPECT_THAT(*delayed.Save(), ElementsAre(2, 0, 0, 0));
  EXPECT_EQ(Cast(&delayed, {1.0}).scale, 224.0f);
}

TEST_F(DelayedScaleTest, OldEntriesLeave) {
  DelayedScale delayed(Length(2));
  for (const double x : {8.0, 2.0, 4.0}) {
    Cast(&delayed, {x});
    ASSERT_THAT(delayed.Advance(), IsOk());
  }
  EXPECT_THAT(*delayed.Save(), ElementsAre(4, 2));
  EXPECT_EQ(Cast(&delayed, {1.0}).scale, 112.0f);
}

// Case 29 (NVIDIA/TransformerEngine#112).
TEST_F(DelayedScaleTest, HistoryOfAnotherLength) {
  DelayedScale longer(Length(4));
  ASSERT_THAT(longer.Restore({3, 1}), IsOk());
  EXPECT_THAT(*longer.Save(), ElementsAre(3, 1, 0, 0));
  EXPECT_FLOAT_EQ(Cast(&longer, {1.0}).scale, 448.0f / 3.0f);
  DelayedScale shorter(Length(2));
  ASSERT_THAT(shorter.Restore({1, 3, 2, 5}), IsOk());
  EXPECT_THAT(*shorter.Save(), ElementsAre(1, 3));
  EXPECT_FLOAT_EQ(Cast(&shorter, {1.0}).scale, 448.0f / 3.0f);
}

// Case 94 (NVIDIA/TransformerEngine#231).
TEST_F(DelayedScaleTest, SizeDoesNotGrow) {
  DelayedScale delayed(Length(16));
  for (int step = 1; step <= 1000; ++step) {
    Cast(&delayed, {1.0});
    ASSERT_THAT(delayed.Advance(), IsOk());
    if (step == 10 || step == 1000) {
      EXPECT_EQ(delayed.Save()->size(), 16u);
    }
  }
}

TEST_F(DelayedScaleTest, SavedAndRestoredIsTheSame) {
  DelayedScale delayed(Length(3));
  for (const double x : {8.0, 2.0}) {
    Cast(&delayed, {x});
    ASSERT_THAT(delayed.Advance(), IsOk());
  }
  DelayedScale restored(Length(3));
  ASSERT_THAT(restored.Restore(*delayed.Save()), IsOk());
  for (const double x : {0.5, 9.0, 1.0, 1.0, 1.0}) {
    EXPECT_EQ(Cast(&restored, {x}).scale, Cast(&delayed, {x}).scale);
    ASSERT_THAT(delayed.Advance(), IsOk());
    ASSERT_THAT(restored.Advance(), IsOk());
  }
  EXPECT_EQ(*restored.Save(), *delayed.Save());
}

// Case 94 (NVIDIA/TransformerEngine#982): a state that a file lacks is
// recalibrated on first use.
TEST_F(DelayedScaleTest, RestoredFromNothing) {
  DelayedScale delayed(Length(4));
  ASSERT_THAT(delayed.Restore({1, 1}), IsOk());
  ASSERT_THAT(delayed.Restore({}), IsOk());
  EXPECT_THAT(*delayed.Save(), IsEmpty());
  EXPECT_EQ(Cast(&delayed, {7.0}).scale, 64.0f);
}

// Case 25 (NVIDIA/TransformerEngine#567). Through the layer: linear_test.
TEST_F(DelayedScaleTest, ResetForReplacedWeights) {
  DelayedScale delayed;
  Cast(&delayed, {0.02});
  ASSERT_THAT(delayed.Advance(), IsOk());
  delayed.Reset();
  const Result loaded = Cast(&delayed, {2.0});
  EXPECT_EQ(loaded.scale, 224.0f);
  EXPECT_THAT(loaded.codes, ElementsAre(448.0));
  ASSERT_THAT(delayed.Advance(), IsOk());
  EXPECT_EQ((*delayed.Save())[0], 2.0f);
  EXPECT_EQ((*delayed.Save())[1], 0.0f);
}

TEST_F(DelayedScaleTest, MarginAndMostRecent) {
  DelayedScalingOptions options = Length(4);
  options.margin = 1;
  options.reduction = AmaxReduction::kMostRecent;
  DelayedScale delayed(options);
  ASSERT_THAT(delayed.Restore({1, 4}), IsOk());
  EXPECT_EQ(Cast(&delayed, {1.0}).scale, 224.0f);
}

// The amax is the tensor's, the scale each format's.
TEST_F(DelayedScaleTest, TwoFormatsShareAHistory) {
  DelayedScale delayed(Length(4));
  ASSERT_THAT(delayed.Restore({2}), IsOk());
  EXPECT_EQ(Cast(&delayed, {1.0}).scale, 224.0f);
  CastPlan e5m2 = kPlan;
  e5m2.dtype = DType::kF8E5M2;
  EXPECT_EQ(Cast(&delayed, {1.0}, e5m2).scale, 28672.0f);
}

// A gradient that was zero must not set the scale of one that is not.
TEST_F(DelayedScaleTest, ZerosSayNothing) {
  DelayedScale delayed(Length(4));
  EXPECT_THAT(Cast(&delayed, {0.0, 0.0}).codes, Each(0.0));
  ASSERT_THAT(delayed.Advance(), IsOk());
  EXPECT_THAT(*delayed.Save(), ElementsAre(0, 0, 0, 0));
  const Result next = Cast(&delayed, {0.5, 0.25});
  EXPECT_EQ(next.scale, 896.0f);
  EXPECT_THAT(next.codes, ElementsAre(448.0, 224.0));
}

TEST_F(DelayedScaleTest, NonFiniteValuesShowAndLeaveNoTrace) {
  for (const double bad : {kNaN, kInf, -kInf}) {
    // With a history, and as the first use.
    for (const bool is_first : {false, true}) {
      DelayedScale delayed(Length(2));
      if (!is_first) {
        ASSERT_THAT(delayed.Restore({2, 1}), IsOk());
      }
      const Result shown = Cast(&delayed, {1.0, bad});
      EXPECT_TRUE(std::isnan(shown.codes[1])) << bad << is_first;
      ASSERT_THAT(delayed.Advance(), IsOk());
      if (is_first) {
        EXPECT_THAT(*delayed.Save(), IsEmpty());
      } else {
        EXPECT_THAT(*delayed.Save(), ElementsAre(2, 1));
      }
      EXPECT_EQ(Cast(&delayed, {2.0}).scale, 224.0f);
    }
  }
}

TEST_F(DelayedScaleTest, RefusesOptionsThatARecipeMayNotHave) {
  const Tensor in =
      *ToDevice(stream_, *FromDoubles({1, 2}, DType::kF32, Shape({1, 2})));
  const auto expect = [&](const DelayedScalingOptions& options,
                          const std::string& text) {
    DelayedScale delayed(options);
    Quantized q;
    EXPECT_THAT(delayed.Cast(stream_, in, kPlan, CastLayout::kRowMajor, &q),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
    EXPECT_THAT(delayed.Restore({1}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
    EXPECT_FALSE(q.scale.view().present());
  };
  for (const int64_t length : {int64_t{0}, int64_t{-1}, int64_t{1} << 60}) {
    expect(Length(length), absl::StrCat("history_length is ", length));
  }
  for (const int margin : {-500, -33, 33, 500}) {
    DelayedScalingOptions options;
    options.margin = margin;
    expect(options, absl::StrCat("margin is ", margin));
  }
}

TEST_F(DelayedScaleTest, Refuses) {
  DelayedScale delayed;
  const Tensor in =
      *ToDevice(stream_, *FromDoubles({1, 2}, DType::kF32, Shape({1, 2})));
  Quantized q;
  CastPlan plan = kPlan;
  plan.granularity = Granularity::kRow;
  EXPECT_THAT(delayed.Cast(stream_, in, plan, CastLayout::kRowMajor, &q),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("row")));
  plan = kPlan;
  plan.dtype = DType::kBf16;
  EXPECT_THAT(delayed.Cast(stream_, in, plan, CastLayout::kRowMajor, &q),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bf16")));
  EXPECT_THAT(
      delayed.Cast(stream_, TensorView(), kPlan, CastLayout::kRowMajor, &q),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absent")));
  EXPECT_THAT(delayed.Cast(stream_, in, kPlan, CastLayout::kRowMajor, nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("null")));
  for (const float bad :
       {-1.0f, static_cast<float>(kNaN), static_cast<float>(kInf)}) {
    EXPECT_THAT(
        delayed.Restore({1.0f, bad}),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("history[1]")));
  }
}

}  // namespace
}  // namespace octet::float8
