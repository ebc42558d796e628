// SPDX-License-Identifier: Apache-2.0
#include "roofline/gemm_time.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::roofline {
namespace {

using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kHeader[] =
    "device,m,k,n,dtype,scale_mode,accumulation,seconds,heuristic_seconds,"
    "tflops,reason\n";

std::string Sweep(absl::string_view rows) {
  return absl::StrCat(kHeader, rows);
}

// Seconds are m k^2 n^3 1e-12 (six digits) at {64, 256}^3: linear in the
// logarithms.
std::string Grid() {
  std::string text = kHeader;
  for (const double m : {64, 256}) {
    for (const double k : {64, 256}) {
      for (const double n : {64, 256}) {
        absl::StrAppend(&text, "gpu,", m, ",", k, ",", n, ",bf16,none,f32,",
                        m * k * k * n * n * n * 1e-12, ",,1,\n");
      }
    }
  }
  return text;
}

TEST(GemmTableTest, FindsWhatWasMeasured) {
  const std::string text = Sweep(
      "\"NVIDIA H200, 139.8 GiB\",1,2,3,e4m3,tensor,fast,2e-6,3e-6,1,\n"
      "\"NVIDIA H200, 139.8 GiB\",1,2,3,bf16,none,f32,5e-6,,1,\n");
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmTable table,
                             GemmTable::Parse(text, "f.csv"));
  EXPECT_EQ(table.size(), 2);
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmTime time,
                             table.Find("tensor_fast", 1, 2, 3));
  EXPECT_EQ(time.seconds, 2e-6);
  EXPECT_FALSE(time.is_interpolated);

  GemmTableOptions first_guess;
  first_guess.candidate = GemmCandidate::kHeuristic;
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmTable guesses,
                             GemmTable::Parse(text, "f.csv", first_guess));
  EXPECT_EQ(guesses.Find("tensor_fast", 1, 2, 3)->seconds, 3e-6);
  // There was but one algorithm, and the best is no first guess.
  EXPECT_THAT(guesses.Find("bf16", 1, 2, 3).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("heuristic_seconds is empty")));
}

TEST(GemmTableTest, NeverGuesses) {
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmTable table,
                             GemmTable::Parse(Grid(), "f.csv"));
  EXPECT_THAT(
      table.Find("bf16", 64, 64, 128).status(),
      StatusIs(absl::StatusCode::kNotFound,
               HasSubstr("f.csv: bf16 of 64x64x128 (m, k, n) is not "
                         "measured; measure it: gemm_sweep "
                         "--outfile=f.csv --shapes=64x64x128 --modes=bf16")));
  EXPECT_THAT(table.Find("row", 64, 64, 64).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("nothing is in that mode")));
  EXPECT_THAT(table.Find("fp7", 64, 64, 64).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("fp7 is none of bf16, tensor_fast")));
  EXPECT_THAT(
      table.Find("bf16", 64, -1, 64).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("64x-1x64")));
}

TEST(GemmTableTest, InterpolatesWhenAskedAndSaysSo) {
  GemmTableOptions options;
  options.interpolate = true;
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmTable table,
                             GemmTable::Parse(Grid(), "f.csv", options));
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmTime exact,
                             table.Find("bf16", 64, 256, 64));
  EXPECT_FALSE(exact.is_interpolated);
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmTime between,
                             table.Find("bf16", 100, 256, 150));
  EXPECT_TRUE(between.is_interpolated);
  EXPECT_NEAR(between.seconds, 100.0 * 256 * 256 * 150 * 150 * 150 * 1e-12,
              1e-5 * between.seconds);
  EXPECT_THAT(table.Find("bf16", 64, 64, 512).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("n is outside of the 64 to 256")));
  EXPECT_THAT(table.Find("bf16", 32, 64, 64).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("m is outside of the 64 to 256")));
}

TEST(GemmTableTest, DoesNotInterpolateOverAHole) {
  GemmTableOptions options;
  options.interpolate = true;
  std::string text = Grid();
  const std::string first = "gpu,64,64,64";
  const size_t at = text.find(first);
  text.erase(at, text.find('\n', at) - at + 1);
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmTable table,
                             GemmTable::Parse(text, "f.csv", options));
  EXPECT_THAT(table.Find("bf16", 100, 100, 100).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("nor is its neighbour 64x64x64")));
  EXPECT_THAT(table.Find("bf16", 100, 256, 100).status(),
              ::octet::testing::IsOk());
}

TEST(GemmTableTest, ARefusedProductSaysWhy) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const GemmTable table,
      GemmTable::Parse(Sweep("gpu,1,2,15,e4m3,row,fast,,,,\"no, never\"\n"),
                       "f.csv"));
  EXPECT_THAT(table.Find("row_fast", 1, 2, 15).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("f.csv:2: row_fast of 1x2x15 has no time: "
                                 "no, never")));
}

TEST(GemmTableTest, SeveralDevicesNeedAChoice) {
  const std::string text = Sweep(
      "a,1,2,3,bf16,none,f32,1e-6,,1,\n"
      "b,1,2,3,bf16,none,f32,2e-6,,1,\n");
  EXPECT_THAT(GemmTable::Parse(text, "f.csv").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("several devices; it has those of a; b")));
  GemmTableOptions options;
  options.device = "b";
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmTable table,
                             GemmTable::Parse(text, "f.csv", options));
  EXPECT_EQ(table.Find("bf16", 1, 2, 3)->seconds, 2e-6);
  options.device = "c";
  EXPECT_THAT(
      GemmTable::Parse(text, "f.csv", options).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no times of c")));
}

TEST(GemmTableTest, TakesTorchaosTables) {
  const std::string text =
      ",fast_accum,name,M,K,N,ref_pct_top_peak,pct_top_peak,ref_time_s,time_s,"
      "fp8_speedup\n"
      "0,True,\"(512, 1024)\",512,1024,2048,0.5,0.5,4e-6,2e-6,2.0\n"
      "1,False,\"(512, 1024)\",512,1024,2048,0.5,0.5,3e-6,2.5e-6,1.2\n";
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmTable table,
                             GemmTable::Parse(text, "f.csv"));
  EXPECT_EQ(table.Find("tensor_fast", 512, 1024, 2048)->seconds, 2e-6);
  EXPECT_EQ(table.Find("tensor", 512, 1024, 2048)->seconds, 2.5e-6);
  EXPECT_EQ(table.Find("bf16", 512, 1024, 2048)->seconds, 3e-6);
  GemmTableOptions options;
  options.torchao_scale_mode = "row";
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmTable row,
                             GemmTable::Parse(text, "f.csv", options));
  EXPECT_EQ(row.Find("row_fast", 512, 1024, 2048)->seconds, 2e-6);
  EXPECT_THAT(
      row.Find("tensor", 512, 1024, 2048).status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("nothing is in")));
}

TEST(GemmTableTest, ErrorsNameTheLineAndTheValue) {
  const struct {
    std::string text;
    const char* message;
  } kCases[] = {
      {"a,b\n1,2\n", "f.csv:1: has the columns a,b; a table of gemm_sweep"},
      {Sweep("g,1,2\n"), "f.csv:2: 3 fields, the header has 11"},
      {Sweep("g,1.5,2,3,bf16,none,f32,1e-6,,1,\n"),
       "f.csv:2: m is \"1.5\", no positive whole number"},
      {Sweep("g,1,0,3,bf16,none,f32,1e-6,,1,\n"), "f.csv:2: k is \"0\""},
      {Sweep("g,1,2,-3,bf16,none,f32,1e-6,,1,\n"), "f.csv:2: n is \"-3\""},
      {Sweep("g,1,2,3,bf16,none,f32,\"0,5\",,1,\n"),
       "f.csv:2: seconds is \"0,5\", no positive number"},
      {Sweep("g,1,2,3,bf16,none,f32,0,,1,\n"), "f.csv:2: seconds is \"0\""},
      {Sweep("g,1,2,3,bf16,none,f32,nan,,1,\n"), "f.csv:2: seconds is \"nan\""},
      {Sweep("g,1,2,3,int8,row,fast,1,,1,\n"),
       "f.csv:2: dtype is \"int8\", with scale_mode row"},
      {Sweep("g,1,2,3,bf16,none,f32,1,,1,\ng,1,2,3,bf16,none,f32,1,,1,\n"),
       "f.csv:3: bf16 of 1x2x3 is there twice, first in line 2"},
      {"fast_accum,M,K,N,ref_time_s,time_s\nyes,1,2,3,1,1\n",
       "f.csv:2: fast_accum is \"yes\""},
      {"fast_accum,M,K,N,ref_time_s,time_s\nTrue,1,2,3,1,x\n",
       "f.csv:2: time_s is \"x\""},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(GemmTable::Parse(c.text, "f.csv").status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(c.message)));
  }
  EXPECT_THAT(GemmTable::Read("missing.csv").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing.csv")));
}

}  // namespace
}  // namespace octet::roofline
