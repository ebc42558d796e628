// SPDX-License-Identifier: Apache-2.0

// All 560 rows that torchao's own code gives for three of its states.

#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/csv.h"
#include "io/file.h"
#include "roofline/bound.h"
#include "roofline/cost.h"
#include "roofline/torchao_hardware.h"
#include "testing/goldens.h"
#include "testing/status_matchers.h"

namespace octet::roofline {
namespace {

using ::octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kRelative = 1e-9;

double ToDouble(const std::string& text) {
  double value = NAN;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void ExpectClose(double actual, double expected, const std::string& where) {
  EXPECT_LE(std::fabs(actual - expected), kRelative * std::fabs(expected))
      << where << ": " << actual << " is not " << expected;
}

Scaling ScalingOf(const std::string& name) {
  return name == "delayed" ? Scaling::kDelayed : Scaling::kDynamic;
}

class Row {
 public:
  Row(const io::CsvTable& table, const io::CsvRow& row) {
    for (size_t i = 0; i < table.header.size(); ++i) {
      fields_[table.header[i]] = row.fields[i];
    }
    where_ = absl::StrCat("line ", row.line, ", ", Text("version"), " ",
                          Text("recipe"), " ", Text("options"));
  }

  const std::string& Text(const std::string& column) const {
    return fields_.at(column);
  }
  double Number(const std::string& column) const {
    return ToDouble(Text(column));
  }
  const std::string& where() const { return where_; }

  CostModel Model() const {
    const std::string& version = Text("version");
    if (version == "PR668") return CostModel::kPr668;
    return version == "PR1789" ? CostModel::kPr1789 : CostModel::kHead;
  }

  LinearOptions Options() const {
    LinearOptions options;
    options.model = Model();
    const bool is_set = absl::EndsWith(Text("options"), "=True");
    if (options.model == CostModel::kPr668) {
      const std::vector<std::string> scaling =
          absl::StrSplit(Text("recipe"), '/');
      options.scaling_input = ScalingOf(scaling.at(0));
      options.scaling_weight = ScalingOf(scaling.at(1));
      options.scaling_grad_output = ScalingOf(scaling.at(2));
      options.compile_limitations = is_set;
    } else {
      options.recipe = Text("recipe");
      options.fused_producer = is_set;
    }
    return options;
  }

  Sizes At() const {
    const auto size = [this](const char* column) {
      return static_cast<int64_t>(Number(column));
    };
    return {size("M"), size("K"), size("N")};
  }

 private:
  std::map<std::string, std::string> fields_;
  std::string where_;
};

void CheckBytes(const Row& row, const LinearModel& model) {
  if (row.Text("total_bytes").empty()) return;
  const auto bytes = [&](Operand operand) {
    return OverheadBytes(model.kernels(), operand).Evaluate(row.At());
  };
  EXPECT_EQ(bytes(Operand::kInput), row.Number("bytes_input")) << row.where();
  EXPECT_EQ(bytes(Operand::kWeight), row.Number("bytes_weight")) << row.where();
  EXPECT_EQ(bytes(Operand::kGradOutput), row.Number("bytes_grad_output"))
      << row.where();
  EXPECT_EQ(TotalLaunches(model.kernels()), row.Number("extra_kernels"))
      << row.where();
  // Its formula is the whole model.
  ExpectClose(model.OverheadSeconds().Evaluate(row.At()),
              row.Number("fp8_ovhd_s"), row.where());
  OCTET_ASSERT_OK_AND_ASSIGN(const Polynomial gemm, model.GemmSeconds());
  ExpectClose(gemm.Evaluate(row.At()), row.Number("fp8_gemm_s"), row.where());
}

void CheckKernels(const Row& row, const LinearModel& model) {
  OCTET_ASSERT_OK_AND_ASSIGN(const std::vector<KernelBound> bounds,
                             model.BoundKernels(row.At()));
  for (const Operand operand :
       {Operand::kInput, Operand::kWeight, Operand::kGradOutput}) {
    const std::string column =
        absl::StrCat("ovhd_", OperandName(operand), "_kernels_s");
    if (row.Text(column).empty()) continue;
    const std::vector<std::string> expected =
        absl::StrSplit(row.Text(column), '|');
    std::vector<double> actual;
    for (size_t i = 0; i < bounds.size(); ++i) {
      const KernelCost& kernel = model.kernels()[i];
      if (kernel.part == "gemm" || kernel.operand != operand) continue;
      actual.push_back(bounds[i].seconds);
    }
    ASSERT_EQ(actual.size(), expected.size()) << row.where() << " " << column;
    for (size_t i = 0; i < actual.size(); ++i) {
      ExpectClose(actual[i], ToDouble(expected[i]), row.where() + column);
    }
  }
}

void CheckRow(const Row& row) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware hardware,
                             TorchaoHardware(row.Model(), row.Text("gpu")));
  OCTET_ASSERT_OK_AND_ASSIGN(
      const LinearModel model,
      LinearModel::Create(row.Options(), hardware, BoundOptions()));
  OCTET_ASSERT_OK_AND_ASSIGN(const LinearBound bound, model.Bound(row.At()));
  ExpectClose(bound.bf16_gemm_seconds, row.Number("bf16_gemm_s"), row.where());
  ExpectClose(bound.bf16_seconds, row.Number("bf16_gemm_s"), row.where());
  ExpectClose(bound.gemm_seconds, row.Number("fp8_gemm_s"), row.where());
  ExpectClose(bound.overhead_seconds, row.Number("fp8_ovhd_s"), row.where());
  ExpectClose(bound.seconds, row.Number("fp8_total_s"), row.where());
  ExpectClose(bound.speedup, row.Number("speedup"), row.where());
  CheckBytes(row, model);
  CheckKernels(row, model);
}

TEST(TorchaoGolden, AllRows) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const std::string text,
      io::ReadFile(testing::GoldenPath("roofline/torchao.csv")));
  OCTET_ASSERT_OK_AND_ASSIGN(const io::CsvTable table,
                             io::ParseCsv(text, "torchao.csv"));
  ASSERT_EQ(table.rows.size(), 560u);
  for (const io::CsvRow& row : table.rows) {
    CheckRow(Row(table, row));
    if (::testing::Test::HasFailure()) break;
  }
}

std::string Overhead(Scaling scaling, bool limits) {
  LinearOptions options;
  options.model = CostModel::kPr668;
  options.scaling_input = options.scaling_weight = options.scaling_grad_output =
      scaling;
  options.compile_limitations = limits;
  const auto hardware = TorchaoHardware(CostModel::kPr668, "H100");
  const auto model = LinearModel::Create(options, *hardware, BoundOptions());
  return model->OverheadSeconds().ToString(8);
}

// The coefficients that torchao's symbolic form prints.
TEST(TorchaoGolden, SymbolicForm) {
  EXPECT_EQ(Overhead(Scaling::kDynamic, false),
            "1.8115942e-12*M*K + 1.8115942e-12*M*N + 2.7173913e-12*K*N + "
            "6e-06");
  EXPECT_EQ(Overhead(Scaling::kDelayed, false),
            "9.057971e-13*M*K + 9.057971e-13*M*N + 1.8115942e-12*K*N + "
            "1.2e-05");
  EXPECT_EQ(Overhead(Scaling::kDynamic, true),
            "2.2644928e-12*M*K + 2.2644928e-12*M*N + 3.1702899e-12*K*N + "
            "6e-06");
  EXPECT_EQ(Overhead(Scaling::kDelayed, true),
            "2.2644928e-12*M*K + 2.2644928e-12*M*N + 3.1702899e-12*K*N + "
            "1.2e-05");
  LinearOptions options;
  options.model = CostModel::kPr668;
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware hardware,
                             TorchaoHardware(CostModel::kPr668, "H100"));
  OCTET_ASSERT_OK_AND_ASSIGN(
      const LinearModel model,
      LinearModel::Create(options, hardware, BoundOptions()));
  OCTET_ASSERT_OK_AND_ASSIGN(const Polynomial gemm, model.GemmSeconds());
  EXPECT_EQ(gemm.ToString(8), "5.0530571e-15*M*K*N");
  options.recipe = "bf16";
  OCTET_ASSERT_OK_AND_ASSIGN(
      const LinearModel plain,
      LinearModel::Create(options, hardware, BoundOptions()));
  OCTET_ASSERT_OK_AND_ASSIGN(const Polynomial bf16, plain.GemmSeconds());
  EXPECT_EQ(bf16.ToString(9), "1.01112235e-14*M*K*N");
}

TEST(TorchaoHardware, ByItsNamesAndTheirBeginnings) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const Hardware h100,
      TorchaoHardware(CostModel::kHead, "NVIDIA H100 80GB HBM3"));
  EXPECT_EQ(h100.memory_rate, 2.4e12);
  EXPECT_EQ(h100.bf16_share, 0.78);
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware b200,
                             TorchaoHardware(CostModel::kHead, "NVIDIA B200"));
  EXPECT_EQ(b200.memory_rate, 7680 / 8 * 3.996e9 * 2);
  const auto bad = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(TorchaoHardware(CostModel::kHead, "NVIDIA H200"),
              StatusIs(bad, AllOf(HasSubstr("\"NVIDIA H200\""),
                                  HasSubstr("NVIDIA H100, NVIDIA B200"))));
  EXPECT_THAT(TorchaoHardware(CostModel::kHead, "NVIDIA GeForce RTX 5090"),
              StatusIs(bad, HasSubstr("no achievable shares")));
  EXPECT_THAT(TorchaoHardware(CostModel::kOctet, "H100"),
              StatusIs(bad, HasSubstr("octet")));
}

// Recipes that the table does not hold, by hand at 4096^3 on torchao's H100.
TEST(TorchaoGolden, OtherRecipes) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware h100,
                             TorchaoHardware(CostModel::kHead, "NVIDIA H100"));
  const double pass = 4096.0 * 4096 / (2.4e12 * 0.92);
  for (const char* recipe : {"mxfp8_cublas_rceil", "mxfp8_emulated"}) {
    LinearOptions options;
    options.model = CostModel::kHead;
    options.recipe = recipe;
    OCTET_ASSERT_OK_AND_ASSIGN(
        const LinearModel model,
        LinearModel::Create(options, h100, BoundOptions()));
    OCTET_ASSERT_OK_AND_ASSIGN(const LinearBound b,
                               model.Bound({4096, 4096, 4096}));
    ExpectClose(b.overhead_seconds, 18 * pass, recipe);
  }
  LinearOptions options;
  options.model = CostModel::kHead;
  options.recipe = "mxfp4_cutlass";
  OCTET_ASSERT_OK_AND_ASSIGN(const Hardware b200,
                             TorchaoHardware(CostModel::kHead, "NVIDIA B200"));
  OCTET_ASSERT_OK_AND_ASSIGN(
      const LinearModel model,
      LinearModel::Create(options, b200, BoundOptions()));
  OCTET_ASSERT_OK_AND_ASSIGN(const LinearBound b,
                             model.Bound({8192, 8192, 8192}));
  ExpectClose(b.gemm_seconds, 3 * 2 * 0x1p39 / 9e15 / 0.78, "mxfp4");
  ExpectClose(b.overhead_seconds, 15 * 0x1p26 / (7.67232e12 * 0.92), "mxfp4");
  EXPECT_THAT(LinearModel::Create(options, h100, BoundOptions()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("NVIDIA H100 has no 4-bit")));
}

}  // namespace
}  // namespace octet::roofline
