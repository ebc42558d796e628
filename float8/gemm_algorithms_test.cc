// SPDX-License-Identifier: Apache-2.0

#include "float8/gemm_algorithms.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "float8/gemm.h"
#include "float8/gemm_scales_fixture.h"
#include "gtest/gtest.h"
#include "io/atomic_file.h"
#include "io/file.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/temp_folder.h"
#include "testing/tensor_matchers.h"

namespace octet::float8 {
namespace {

using octet::testing::BitwiseEq;
using octet::testing::IsNear;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using octet::testing::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

bool HasLeaf() {
  const char* device = std::getenv("OCTET_TEST_DEVICE");
  return device != nullptr && std::string(device) != "cpu";
}

// One entry, for a GPU that no machine has.
constexpr char kFile[] = R"({"format": "octet gemm algorithms", "version": 1,
  "algorithms": [{"gpu": "Abacus", "multiprocessors": 7, "workspace": 67108864,
    "cublaslt": 130100, "microseconds": 2.5,
    "algorithm": "1 2 3 4 5 6 7 ffffffffffffffff",
    "problem": {"m": 16, "n": 16, "k": 32, "a_ld": 32, "b_ld": 32, "d_ld": 16,
      "a_type": 28, "b_type": 28, "d_type": 14, "bias_type": -1, "a_scale": 0,
      "b_scale": 0, "a_transposed": 1, "b_transposed": 0, "has_c": 0,
      "fast_accumulation": 0, "a_alignment": 256, "b_alignment": 256,
      "d_alignment": 256}}]})";

// Needs no GPU.
class GemmAlgorithmsFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasLeaf()) GTEST_SKIP() << "the leaf is not linked";
  }
  absl::StatusOr<LoadedGemmAlgorithms> Load(const std::string& contents) {
    const std::string path = folder_.Join("algorithms.json");
    EXPECT_THAT(io::WriteFile(path, contents), IsOk());
    return LoadGemmAlgorithms(path);
  }
  TempFolder folder_;
};

TEST(GemmAlgorithmsTest, WithoutTheLeaf) {
  if (HasLeaf()) GTEST_SKIP() << "the leaf is linked";
  const auto names_the_leaf = StatusIs(absl::StatusCode::kUnimplemented,
                                       HasSubstr("//float8:gemm_cuda"));
  EXPECT_THAT(SetGemmAlgorithmMode(GemmAlgorithmMode::kHeuristic),
              names_the_leaf);
  EXPECT_THAT(SaveGemmAlgorithms("/nowhere"), names_the_leaf);
  EXPECT_THAT(LoadGemmAlgorithms("/nowhere"), names_the_leaf);
}

TEST_F(GemmAlgorithmsFileTest, OfAnotherGpu) {
  OCTET_ASSERT_OK_AND_ASSIGN(const LoadedGemmAlgorithms loaded, Load(kFile));
  EXPECT_EQ(loaded.usable, 0);
  EXPECT_EQ(loaded.ignored, 1);
}

TEST_F(GemmAlgorithmsFileTest, Missing) {
  EXPECT_THAT(LoadGemmAlgorithms(folder_.Join("none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(SaveGemmAlgorithms(folder_.Join("no/such/folder")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no/such")));
}

TEST_F(GemmAlgorithmsFileTest, Broken) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"\"octet gemm algorithms\"", "\"recipe\""},
      {"\"version\": 1", "\"version\": 2"},
      {"\"algorithms\":", "\"others\":"},
      {"\"gpu\": \"Abacus\"", "\"gpu\": 3"},
      {"ffffffffffffffff", "fffffffffffffffff"},
      {"1 2 3 4", "1 2 3"},
      {"1 2 3 4", "1 2 3 x"},
      {"\"k\": 32, ", ""},
      {"\"problem\": {", "\"problem\": \"none\", \"p\": {"},
      {"\"cublaslt\": 130100,", ""},
      {"}]}", "}]"},
  };
  for (const auto& [from, to] : changes) {
    const std::string broken = absl::StrReplaceAll(kFile, {{from, to}});
    ASSERT_NE(broken, kFile) << from;
    EXPECT_THAT(Load(broken), StatusIs(absl::StatusCode::kDataLoss,
                                       HasSubstr("algorithms.json")))
        << from << " -> " << to;
  }
}

class GemmAlgorithmsGpuTest : public GemmScalesTest {
 protected:
  void SetUp() override {
    GemmScalesTest::SetUp();
    if (!IsSkipped() && !IsGpu()) GTEST_SKIP() << "the CPU has no choice";
  }
  void TearDown() override {
    if (IsGpu()) {
      EXPECT_THAT(SetGemmAlgorithmMode(GemmAlgorithmMode::kMeasure), IsOk());
    }
  }
  TempFolder folder_;
};

TEST_F(GemmAlgorithmsGpuTest, SavedAndLoaded) {
  const Quantized a = Quantise(Random(Shape({272, 512}), 1), Granularity::kRow,
                               ScaleRounding::kExact, DType::kF8E4M3);
  const Quantized b = Quantise(Random(Shape({528, 512}), 2), Granularity::kRow,
                               ScaleRounding::kExact, DType::kF8E4M3);
  Run(OperandOf(a), OperandOf(b, Transpose::kYes), 272, 528);
  const std::string path = folder_.Join("a.json");
  const std::string again = folder_.Join("b.json");
  ASSERT_THAT(SaveGemmAlgorithms(path), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const LoadedGemmAlgorithms loaded,
                             LoadGemmAlgorithms(path));
  EXPECT_GE(loaded.usable, 1);
  EXPECT_EQ(loaded.ignored, 0);
  ASSERT_THAT(SaveGemmAlgorithms(again), IsOk());
  EXPECT_EQ(*io::ReadFile(path), *io::ReadFile(again));

  // Another cuBLASLt's are not taken.
  const std::string text = *io::ReadFile(path);
  const size_t at = text.find("\"cublaslt\": ") + 12;
  std::string other = text;
  other[at] = other[at] == '9' ? '8' : '9';
  ASSERT_THAT(io::WriteFile(again, other), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const LoadedGemmAlgorithms ignored,
                             LoadGemmAlgorithms(again));
  EXPECT_EQ(ignored.ignored, 1);
}

TEST_F(GemmAlgorithmsGpuTest, FirstGuessThenMeasured) {
  const Quantized a =
      Quantise(Random(Shape({144, 256}), 1), Granularity::kTensor,
               ScaleRounding::kExact, DType::kF8E4M3);
  const Quantized b =
      Quantise(Random(Shape({400, 256}), 2), Granularity::kTensor,
               ScaleRounding::kExact, DType::kF8E4M3);
  const Tensor want = Product(Meaning(a), Meaning(b), 144, 400, 256);
  for (const GemmAlgorithmMode mode :
       {GemmAlgorithmMode::kHeuristic, GemmAlgorithmMode::kMeasure}) {
    ASSERT_THAT(SetGemmAlgorithmMode(mode), IsOk());
    EXPECT_THAT(
        Run(OperandOf(a), OperandOf(b, Transpose::kYes), 144, 400).view(),
        IsNear(want, Tolerance()));
  }
}

}  // namespace
}  // namespace octet::float8
