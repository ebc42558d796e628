// SPDX-License-Identifier: Apache-2.0

#include "train/plan/mfu.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace octet::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(PeakTflops, OfKnownGpusUnlessConfigured) {
  EXPECT_EQ(PeakTflops(0, "NVIDIA H100 80GB HBM3, 79.6 GiB, sm_90"), 989.4);
  EXPECT_EQ(PeakTflops(0, "NVIDIA H100 PCIe, 79.6 GiB, sm_90"), 756);
  EXPECT_EQ(PeakTflops(0, "NVIDIA H200, 139.8 GiB, sm_90"), 989.4);
  EXPECT_EQ(PeakTflops(0, "NVIDIA H200 NVL, 139.8 GiB, sm_90"), 835.5);
  EXPECT_EQ(PeakTflops(0, "NVIDIA B200, 178.4 GiB, sm_100"), 2250);
  // Not the B200: its clock is another.
  EXPECT_EQ(PeakTflops(0, "NVIDIA GB200, 184.4 GiB, sm_100"), std::nullopt);
  EXPECT_EQ(PeakTflops(0, "CPU"), std::nullopt);
  EXPECT_EQ(PeakTflops(0, ""), std::nullopt);
  EXPECT_EQ(PeakTflops(1.5, "CPU"), 1.5);
  EXPECT_EQ(PeakTflops(500, "NVIDIA H200, 139.8 GiB, sm_90"), 500);
}

TEST(Mfu, IsAFractionOfThePeak) {
  EXPECT_EQ(Mfu(494.7, 989.4), 0.5);
  EXPECT_EQ(Mfu(494.7, std::nullopt), std::nullopt);
}

TEST(DescribeFlops, NamesTheConventionAndThePeak) {
  EXPECT_EQ(DescribeFlops(11.24e6, 989.4),
            "11.2 M a token: 6 (N - N_embedding) + 12 L H head_dim T "
            "(torchtitan's; causal half not discounted); MFU of 989.4 TFLOP/s "
            "(dense bf16)");
  EXPECT_THAT(DescribeFlops(57.9e9, std::nullopt),
              AllOf(HasSubstr("57.9 G a token"), HasSubstr("MFU n/a")));
}

}  // namespace
}  // namespace octet::train
