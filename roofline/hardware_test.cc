// SPDX-License-Identifier: Apache-2.0

#include "roofline/hardware.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::roofline {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string NameOf(const std::string& name) {
  const auto found = FindHardware(name);
  return found.ok() ? found->name : std::string(found.status().message());
}

TEST(FindHardware, ByTheNamesThatDriversAndPeopleUse) {
  EXPECT_EQ(NameOf("NVIDIA H200"), "H200");
  EXPECT_EQ(NameOf("h200"), "H200");
  EXPECT_EQ(NameOf("H100"), "H100 SXM");
  EXPECT_EQ(NameOf("NVIDIA H100 80GB HBM3"), "H100 SXM");
  EXPECT_EQ(NameOf("NVIDIA H100 PCIe"), "H100 PCIe");
  EXPECT_EQ(NameOf("NVIDIA H100 NVL"), "H100 NVL");
  EXPECT_EQ(NameOf("NVIDIA H200 NVL"), "H200 NVL");
  EXPECT_EQ(NameOf("NVIDIA A100-SXM4-80GB"), "A100");
  EXPECT_EQ(NameOf("NVIDIA GB200"), "GB200");
  EXPECT_EQ(NameOf("NVIDIA GeForce RTX 4090"), "RTX 4090");
  EXPECT_EQ(NameOf("rtx5090"), "RTX 5090");
  EXPECT_EQ(NameOf("AMD Instinct MI300X"), "MI300X");
}

TEST(FindHardware, ListsTheKnownOnes) {
  for (const char* name :
       {"FooGPU", "", "NVIDIA", "H", "H100 80GB HBM3 MIG 1g.10gb", "H2000"}) {
    EXPECT_THAT(FindHardware(name),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("\"" + std::string(name) + "\""),
                               HasSubstr("H100 SXM, H100 PCIe, H100 NVL, H200"),
                               HasSubstr("MI300X"))))
        << name;
  }
}

// An H200 is no H100: the same tensor cores, another memory. Dense peaks, not
// the sparse ones.
TEST(FindHardware, H200IsNoH100) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware h200, FindHardware("H200"));
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware h100, FindHardware("H100"));
  EXPECT_EQ(h200.memory_rate, 4.8e12);
  EXPECT_EQ(h100.memory_rate, 3.35e12);
  for (const Hardware* h : {&h200, &h100}) {
    EXPECT_EQ(h->bf16_flops, 989e12);
    EXPECT_EQ(h->fp8_flops, 1979e12);
    EXPECT_NEAR(h->fp8_flops / h->bf16_flops, 2.0, 0.002);
    // 500 TFLOP/s is an MFU of 50.6%.
    EXPECT_NEAR(500e12 / h->bf16_flops, 0.506, 0.0005);
  }
  EXPECT_NEAR(Bf16Ridge(h200), 206.0, 0.05);
  EXPECT_NEAR(Bf16Ridge(h100), 295.2, 0.05);
  EXPECT_NEAR(Fp8Ridge(h200), 412.3, 0.05);
  EXPECT_NEAR(Fp8Ridge(h100), 590.7, 0.05);
}

TEST(KnownHardware, IsWholeAndHasSources) {
  std::set<std::string> names;
  for (const Hardware& h : KnownHardware()) {
    EXPECT_THAT(CheckHardware(h), IsOk()) << h.name;
    EXPECT_TRUE(names.insert(h.name).second) << h.name;
    EXPECT_EQ(NameOf(h.name), h.name);
    EXPECT_EQ(NameOf("NVIDIA " + h.name), h.name);
    for (const std::string& alias : h.aliases) EXPECT_EQ(NameOf(alias), h.name);
    for (const char* field :
         {"bf16_flops", "memory_rate", "memory_bytes", "nvlink_rate",
          "network_rate", "gpus_per_node", "launch_seconds",
          "graph_launch_seconds", "bf16_share", "fp8_share", "memory_share",
          "link_share"}) {
      EXPECT_EQ(h.sources.count(field), 1u) << h.name << " " << field;
    }
    EXPECT_EQ(h.sources.count("fp8_flops"), h.fp8_flops > 0 ? 1u : 0u);
    // Float8 is twice bf16, or is not there.
    if (h.fp8_flops == 0) continue;
    EXPECT_NEAR(h.fp8_flops / h.bf16_flops, 2, 0.03) << h.name;
  }
  EXPECT_EQ(names.size(), 12u);
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware a100, FindHardware("A100"));
  EXPECT_EQ(a100.fp8_flops, 0);
}

TEST(KnownHardware, H200IsCalibrated) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware h, FindHardware("H200"));
  EXPECT_EQ(h.copy_rate, 4.27e12);
  for (const char* mode : {"bf16", "tensor_fast", "tensor", "row_fast", "row",
                           "block128", "block1x128"}) {
    ASSERT_EQ(h.gemm_flops.count(mode), 1u) << mode;
    EXPECT_LT(h.gemm_flops.at(mode), h.fp8_flops) << mode;
    EXPECT_EQ(h.gemm_fixed_seconds.count(mode), 1u) << mode;
  }
  EXPECT_EQ(h.sources.count("gemm_flops"), 1u);
}

TEST(CheckHardware, NamesWhatCannotBe) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware good, FindHardware("H200"));
  const auto check = [&](auto change) {
    Hardware h = good;
    change(&h);
    return CheckHardware(h);
  };
  const auto bad = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(check([](Hardware* h) { h->bf16_flops = 0; }),
              StatusIs(bad, HasSubstr("bf16_flops is 0")));
  EXPECT_THAT(check([](Hardware* h) { h->memory_rate = -1; }),
              StatusIs(bad, HasSubstr("memory_rate is -1")));
  EXPECT_THAT(check([](Hardware* h) { h->fp8_share = 1.5; }),
              StatusIs(bad, HasSubstr("fp8_share is 1.5")));
  EXPECT_THAT(check([](Hardware* h) { h->gpus_per_node = 0; }),
              StatusIs(bad, HasSubstr("gpus_per_node is 0")));
  EXPECT_THAT(check([](Hardware* h) {
                h->fp8_flops = std::numeric_limits<double>::quiet_NaN();
              }),
              StatusIs(bad, HasSubstr("fp8_flops is nan")));
  EXPECT_THAT(check([](Hardware* h) { h->gemm_flops["row"] = -3; }),
              StatusIs(bad, HasSubstr("gemm_flops of row is -3")));
  EXPECT_THAT(check([](Hardware* h) { h->gemm_fixed_seconds["row"] = 2; }),
              StatusIs(bad, HasSubstr("gemm_fixed_seconds of row is 2")));
  EXPECT_THAT(check([](Hardware* h) { h->copy_rate = -2; }),
              StatusIs(bad, HasSubstr("copy_rate is -2")));
  EXPECT_THAT(check([](Hardware* h) { h->name = ""; }),
              StatusIs(bad, HasSubstr("name is empty")));
}

}  // namespace
}  // namespace octet::roofline
