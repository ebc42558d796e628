// SPDX-License-Identifier: Apache-2.0

#include "roofline/hardware_file.h"

#include <locale>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/file.h"
#include "roofline/hardware.h"
#include "roofline/hardware_fields.h"
#include "testing/status_matchers.h"
#include "testing/temp_folder.h"

namespace octet::roofline {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kSmall[] =
    "name = \"My card\"\n"
    "bf16_tflops = 312.5\n"
    "memory_gigabytes = 80\n"
    "memory_gigabytes_per_second = 2039.0\n";

// What HardwareToml writes of it is all that matters to a reader.
void ExpectSame(const Hardware& a, const Hardware& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.aliases, b.aliases);
  EXPECT_EQ(a.bf16_flops, b.bf16_flops);
  EXPECT_EQ(a.fp8_flops, b.fp8_flops);
  EXPECT_EQ(a.fp4_flops, b.fp4_flops);
  EXPECT_EQ(a.memory_rate, b.memory_rate);
  EXPECT_EQ(a.memory_bytes, b.memory_bytes);
  EXPECT_EQ(a.nvlink_rate, b.nvlink_rate);
  EXPECT_EQ(a.network_rate, b.network_rate);
  EXPECT_EQ(a.gpus_per_node, b.gpus_per_node);
  EXPECT_EQ(a.launch_seconds, b.launch_seconds);
  EXPECT_EQ(a.graph_launch_seconds, b.graph_launch_seconds);
  EXPECT_EQ(a.bf16_share, b.bf16_share);
  EXPECT_EQ(a.fp8_share, b.fp8_share);
  EXPECT_EQ(a.memory_share, b.memory_share);
  EXPECT_EQ(a.link_share, b.link_share);
  EXPECT_EQ(a.copy_rate, b.copy_rate);
  EXPECT_EQ(a.gemm_flops, b.gemm_flops);
  EXPECT_EQ(a.gemm_fixed_seconds, b.gemm_fixed_seconds);
  EXPECT_EQ(a.sources, b.sources);
}

TEST(ParseHardware, ReadsASmallFile) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware h, ParseHardware(kSmall, "a.toml"));
  EXPECT_EQ(h.name, "My card");
  EXPECT_EQ(h.bf16_flops, 312.5e12);
  EXPECT_EQ(h.memory_bytes, 80e9);
  EXPECT_EQ(h.memory_rate, 2039e9);
  EXPECT_EQ(h.fp8_flops, 0);
  EXPECT_EQ(h.bf16_share, 1);
}

TEST(ParseHardware, ReadsEveryKey) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware h,
                             ParseHardware(absl::StrCat(kSmall, R"(
aliases = ["mine", "ours"]
fp8_tflops = 600
launch_microseconds = 2.5
graph_launch_microseconds = 1.2
gpus_per_node = 4
nvlink_gigabytes_per_second = 300
memory_share = 0.9
copy_gigabytes_per_second = 1800.5
[gemm_tflops]
bf16 = 250
[gemm_fixed_microseconds]
bf16 = 4.5
[sources]
bf16_tflops = "datasheet"
)"),
                                           "a.toml"));
  EXPECT_EQ(h.aliases, (std::vector<std::string>{"mine", "ours"}));
  EXPECT_EQ(h.launch_seconds, 2.5e-6);
  EXPECT_EQ(h.graph_launch_seconds, 1.2e-6);
  EXPECT_EQ(h.gpus_per_node, 4);
  EXPECT_EQ(h.copy_rate, 1800.5e9);
  EXPECT_EQ(h.gemm_flops.at("bf16"), 250e12);
  EXPECT_EQ(h.gemm_fixed_seconds.at("bf16"), 4.5e-6);
  EXPECT_EQ(h.sources.at("bf16_flops"), "datasheet");
}

TEST(ParseHardware, ErrorsNameTheLineAndTheKey) {
  const auto bad = [](const std::string& line, const std::string& what) {
    EXPECT_THAT(ParseHardware(absl::StrCat(kSmall, line, "\n"), "a.toml"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(StartsWith("a.toml:"), HasSubstr(what))))
        << line;
  };
  bad("fp8_tflops = -1", "a.toml:5: fp8_tflops is -1");
  bad("fp8_tflops = 0", "a.toml:5: fp8_tflops is 0");
  bad("fp8_tflops = nan", "a.toml:5: fp8_tflops is nan");
  bad("fp8_tflops = inf", "a.toml:5: fp8_tflops is inf");
  // A peak in FLOP/s where TFLOP/s belong.
  bad("fp8_tflops = 1979e12", "a.toml:5: fp8_tflops is 1.979e+15");
  bad("fp8_tflops = \"600\"", "a.toml:5: fp8_tflops must be a number");
  bad("fp8_tflops = 1,5", "a.toml:5: ");
  bad("fp8_flops = 1", "a.toml:5: fp8_flops is no key; there are name");
  bad("bf16_tflops = 1", "a.toml:5: ");
  bad("memory_share = 1.5", "a.toml:5: memory_share is 1.5");
  bad("gpus_per_node = 2.5", "a.toml:5: gpus_per_node is 2.5");
  bad("aliases = \"x\"", "a.toml:5: aliases must be a list");
  bad("aliases = [1]", "a.toml:5: aliases must be a text");
  bad("gemm_tflops = 3", "a.toml:5: gemm_tflops must be a table");
  bad("[gemm_tflops]\nrow = true",
      "a.toml:6: gemm_tflops.row must be a number");
  bad("[gemm_tflops]\nrow = -2", "a.toml:6: gemm_tflops.row is -2");
  bad("[gemm_tflops]\ntenser = 2",
      "a.toml:6: gemm_tflops.tenser is no mode; there are bf16, tensor_fast");
  bad("[sources]\nfoo = \"x\"", "a.toml:6: sources.foo is no key");
  bad("[sources]\nfp8_tflops = 3", "a.toml:6: sources.fp8_tflops must be");
}

TEST(ParseHardware, NamesTheKeyOfWhatCannotBe) {
  EXPECT_THAT(ParseHardware("name = \"x\"\nbf16_tflops = 1e-9\n"
                            "memory_gigabytes_per_second = 1000",
                            "a.toml"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("bf16_tflops is 1e-09")));
}

TEST(ParseHardware, NamesWhatIsMissing) {
  EXPECT_THAT(ParseHardware("", "a.toml"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a.toml: name is missing")));
  EXPECT_THAT(ParseHardware("name = \"x\"\nmemory_gigabytes = 1", "a.toml"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("bf16_tflops is missing")));
}

TEST(HardwareToml, RoundTripsAllThatIsBuiltIn) {
  for (const Hardware& known : KnownHardware()) {
    OCTET_ASSERT_OK_AND_ASSIGN(const Hardware back,
                               ParseHardware(HardwareToml(known), known.name));
    ExpectSame(known, back);
  }
}

TEST(HardwareToml, QuotesTexts) {
  OCTET_ASSERT_OK_AND_ASSIGN(Hardware h, FindHardware("H200"));
  h.name = "a \"b\" \\ c";
  h.gemm_flops["f32"] = 1.0 / 3 * 1e12;
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware back,
                             ParseHardware(HardwareToml(h), "x"));
  ExpectSame(h, back);
}

struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(HardwareToml, KnowsNoDecimalCommas) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware h, FindHardware("RTX 4090"));
  const std::string before = HardwareToml(h);
  const std::locale locale =
      std::locale::global(std::locale(std::locale(), new Commas));
  const std::string text = HardwareToml(h);
  const absl::StatusOr<Hardware> back = ParseHardware(text, "x");
  std::locale::global(locale);
  EXPECT_EQ(text, before);
  ASSERT_THAT(back, IsOk());
  ExpectSame(h, *back);
}

TEST(HardwareNumbers, InTheFilesUnitsWithSources) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware h,
                             ParseHardware(absl::StrCat(kSmall, R"(
[gemm_tflops]
bf16 = 250
row = 480.5
[sources]
bf16_tflops = "datasheet"
gemm_tflops = "measured"
)"),
                                           "a.toml"));
  std::vector<std::string> lines;
  for (const HardwareNumber& n : HardwareNumbers(h)) {
    lines.push_back(absl::StrCat(n.key, " ", n.value, " ", n.source));
  }
  EXPECT_THAT(lines, ::testing::IsSupersetOf(
                         {"bf16_tflops 312.5 datasheet",
                          "memory_gigabytes_per_second 2039 ",
                          "gpus_per_node 1 ", "gemm_tflops.bf16 250 measured",
                          "gemm_tflops.row 480.5 measured"}));
  // What is not known is not there.
  for (const std::string& line : lines) {
    EXPECT_THAT(line, ::testing::Not(StartsWith("fp8_tflops")));
  }
}

// The file that ships is what is built in.
TEST(HardwareFile, ShippedH200) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware file,
                             ReadHardware("roofline/h200.toml"));
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware built_in, FindHardware("H200"));
  ExpectSame(file, built_in);
}

TEST(HardwareFile, WritesAndReads) {
  const testing::TempFolder folder;
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware h, FindHardware("B200"));
  const std::string path = folder.Join("card.toml");
  ASSERT_THAT(WriteHardware(h, path), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware back, ReadHardware(path));
  ExpectSame(h, back);

  Hardware broken = h;
  broken.memory_rate = 0;
  EXPECT_THAT(WriteHardware(broken, folder.Join("broken.toml")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("memory_rate is 0")));
  EXPECT_THAT(folder.List(), ::testing::ElementsAre("card.toml"));
  EXPECT_THAT(WriteHardware(h, folder.Join("none/card.toml")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(ReadHardware(folder.Join("absent.toml")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("absent.toml")));
}

}  // namespace
}  // namespace octet::roofline
