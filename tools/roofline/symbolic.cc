// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/symbolic.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "roofline/bound.h"
#include "roofline/cost.h"
#include "roofline/kernel_cost.h"
#include "roofline/polynomial.h"
#include "tools/roofline/input/shapes.h"
#include "tools/roofline/options.h"
#include "tools/roofline/table.h"

namespace octet::tools {
namespace {

using roofline::KernelCost;
using roofline::Polynomial;
using roofline::Variable;

constexpr int kTextDigits = 8;

class Formulas {
 public:
  // Text has few digits, data all. With sizes: values too.
  Formulas(bool is_text, std::optional<roofline::Sizes> sizes)
      : is_text_(is_text), sizes_(sizes), table_(Columns(sizes)) {}

  void Add(absl::string_view name, absl::string_view unit,
           const Polynomial& formula) {
    if (formula.IsZero()) return;
    std::vector<Cell> row = {std::string(name), std::string(unit),
                             Text(formula)};
    for (const Variable v : {Variable::kM, Variable::kK, Variable::kN}) {
      row.push_back(Text(formula.Derivative(v)));
    }
    if (sizes_) row.push_back(formula.Evaluate(*sizes_));
    table_.AddRow(std::move(row));
  }

  const Table& table() const { return table_; }

 private:
  static std::vector<Column> Columns(
      const std::optional<roofline::Sizes>& sizes) {
    std::vector<Column> columns = {{"quantity"},
                                   {"unit"},
                                   {"formula"},
                                   {"d_dM", CellStyle::kText, "d/dM"},
                                   {"d_dK", CellStyle::kText, "d/dK"},
                                   {"d_dN", CellStyle::kText, "d/dN"}};
    if (sizes) columns.push_back({"value", CellStyle::kNumber});
    return columns;
  }
  std::string Text(const Polynomial& p) const {
    return is_text_ ? p.ToString(kTextDigits) : p.ToString();
  }

  bool is_text_;
  std::optional<roofline::Sizes> sizes_;
  Table table_;
};

void AddKernels(const std::vector<KernelCost>& kernels, Formulas* formulas) {
  for (const KernelCost& kernel : kernels) {
    std::string name = kernel.name;
    if (!kernel.mode.empty()) absl::StrAppend(&name, " (", kernel.mode, ")");
    if (kernel.count != 1.0) absl::StrAppend(&name, " x ", kernel.count);
    formulas->Add(name, "bytes", kernel.bytes);
    formulas->Add(name, "FLOP", kernel.flops);
    formulas->Add(name, "wire bytes", kernel.wire_bytes);
  }
}

void AddTotals(const std::vector<KernelCost>& kernels, Formulas* formulas) {
  for (const roofline::Operand operand :
       {roofline::Operand::kInput, roofline::Operand::kWeight,
        roofline::Operand::kGradOutput}) {
    formulas->Add(absl::StrCat("casts of ", roofline::OperandName(operand)),
                  "bytes", roofline::OverheadBytes(kernels, operand));
  }
  formulas->Add("all", "bytes", roofline::TotalBytes(kernels));
  formulas->Add("all", "FLOP", roofline::TotalFlops(kernels));
  formulas->Add("all", "wire bytes", roofline::TotalWireBytes(kernels));
  formulas->Add("all", "launches", roofline::TotalLaunches(kernels));
}

absl::StatusOr<std::optional<roofline::Sizes>> SizesOf(
    const CommandLine& line) {
  if (!line.Has("M") && !line.Has("K") && !line.Has("N")) {
    return std::optional<roofline::Sizes>();
  }
  OCTET_ASSIGN_OR_RETURN(const std::vector<LayerShape> shapes,
                         ShapesOf(line, ""));
  return std::optional<roofline::Sizes>(shapes[0].sizes);
}

absl::StatusOr<RooflineOutput> RunSymbolic(const CommandLine& line) {
  OCTET_RETURN_IF_ERROR(CheckOutfileWord(line, "recipe"));
  OCTET_ASSIGN_OR_RETURN(
      const LinearSetup setup,
      SetupOf(line, roofline::CostModel::kOctet, "roofline"));
  if (setup.lookups != nullptr) {
    return absl::InvalidArgumentError(
        "--gemm_time_strategy=benchmarks: measured times are no formula");
  }
  OCTET_ASSIGN_OR_RETURN(const std::optional<roofline::Sizes> sizes,
                         SizesOf(line));
  OCTET_ASSIGN_OR_RETURN(const roofline::LinearModel model, ModelOf(setup));
  const std::string out =
      line.Get("outfile", line.words.empty() ? ".txt" : line.words[0]);
  const bool is_text =
      line.Get("format", absl::EndsWith(out, ".txt") ? "text" : "csv") ==
      "text";
  Formulas formulas(is_text, sizes);
  AddKernels(model.kernels(), &formulas);
  AddTotals(model.kernels(), &formulas);
  roofline::LinearOptions plain = setup.options;
  plain.recipe = "bf16";
  if (plain.gather == roofline::Gather::kFp8) {
    plain.gather = roofline::Gather::kBf16;
  }
  OCTET_ASSIGN_OR_RETURN(
      const roofline::LinearModel bf16,
      roofline::LinearModel::Create(plain, setup.hardware, setup.bound));
  OCTET_ASSIGN_OR_RETURN(const Polynomial bf16_seconds, bf16.GemmSeconds());
  OCTET_ASSIGN_OR_RETURN(const Polynomial gemm_seconds, model.GemmSeconds());
  formulas.Add("bf16 GEMMs", "seconds", bf16_seconds);
  formulas.Add("GEMMs", "seconds", gemm_seconds);
  formulas.Add("casts and amaxes", "seconds", model.OverheadSeconds());
  const std::string above = absl::StrCat(
      setup.ToString(),
      "Seconds are those of large sizes: without what bounds a short kernel.\n",
      "\n");
  return Deliver(line, above, formulas.table());
}

}  // namespace

const RooflineCommand& SymbolicCommand() {
  static const auto& command = *new RooflineCommand{
      "symbolic",
      "bytes, FLOPs and seconds as formulas in M, K, N, with derivatives",
      JoinFlags({{{"M"}, {"K"}, {"N"}},
                 HardwareFlags(),
                 ModelFlags(),
                 OutputFlags()}),
      absl::StrCat("  --M=, --K=, --N=         evaluates the formulas there\n",
                   HardwareUsage(), ModelUsage(), OutputUsage(),
                   "\nexamples:\n"
                   "  roofline symbolic --recipe=blockwise\n"
                   "  roofline symbolic --cost_model=pr668 --M=4096 --K=4096 "
                   "--N=4096\n"),
      &RunSymbolic};
  return command;
}

}  // namespace octet::tools
