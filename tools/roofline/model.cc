// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/model.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "roofline/model/model.h"
#include "roofline/report/pictures.h"
#include "tools/roofline/gemm_times.h"
#include "tools/roofline/input/shapes.h"
#include "tools/roofline/model_options.h"
#include "tools/roofline/model_page.h"
#include "tools/roofline/options.h"
#include "tools/roofline/page.h"
#include "tools/roofline/table.h"

namespace octet::tools {
namespace {

using roofline::ModelEstimate;
using roofline::TimeLabel;

constexpr double kGib = 1 << 30;

Table ModelTable() {
  return Table(
      {{"recipe", CellStyle::kText},
       {"ranks", CellStyle::kWhole, "GPUs"},
       {"step_s", CellStyle::kMilliseconds, "step ms"},
       {"tokens_per_second_per_gpu", CellStyle::kCount, "tokens/s per GPU"},
       {"tokens_per_second", CellStyle::kDataOnly},
       {"tflops_per_gpu", CellStyle::kCount, "TFLOP/s per GPU"},
       {"mfu", CellStyle::kPercent, "MFU %"},
       {"speedup", CellStyle::kRatio},
       {"memory_gib", CellStyle::kNumber, "GiB"},
       {"fits", CellStyle::kText},
       {"gemm_s", CellStyle::kMilliseconds, "gemm"},
       {"cast_s", CellStyle::kMilliseconds, "cast"},
       {"attention_s", CellStyle::kMilliseconds, "attention"},
       {"elementwise_s", CellStyle::kMilliseconds, "elementwise"},
       {"head_s", CellStyle::kMilliseconds, "head"},
       {"optimizer_s", CellStyle::kMilliseconds, "optimizer"},
       {"exposed_communication_s", CellStyle::kMilliseconds, "exposed"},
       {"hidden_communication_s", CellStyle::kMilliseconds, "hidden"},
       {"master_gib", CellStyle::kDataOnly},
       {"moments_gib", CellStyle::kDataOnly},
       {"gradients_gib", CellStyle::kDataOnly},
       {"weights_gib", CellStyle::kDataOnly},
       {"activations_gib", CellStyle::kDataOnly},
       {"logits_gib", CellStyle::kDataOnly},
       {"runtime_gib", CellStyle::kDataOnly},
       {"parameters", CellStyle::kDataOnly},
       {"flops_per_token", CellStyle::kDataOnly}});
}

std::vector<Cell> CellsOf(const ModelRow& row) {
  const ModelEstimate& e = row.estimate;
  const roofline::ModelMemory& m = e.memory;
  return {row.recipe,
          row.ranks,
          e.seconds,
          e.tokens_per_second_per_gpu,
          e.tokens_per_second,
          e.flops_per_second_per_gpu * 1e-12,
          e.mfu,
          row.speedup,
          m.total() / kGib,
          row.fits == "unknown" ? Cell(row.fits) : Cell(row.fits == "yes"),
          e.parts.gemm,
          e.parts.cast,
          e.parts.attention,
          e.parts.elementwise,
          e.parts.head,
          e.parts.optimizer,
          e.parts.communication,
          e.hidden_communication,
          m.master / kGib,
          m.moments / kGib,
          m.gradients / kGib,
          m.weights / kGib,
          m.activations / kGib,
          m.logits / kGib,
          m.runtime / kGib,
          e.parameters,
          e.flops_per_token};
}

absl::StatusOr<std::vector<ModelRow>> RowsOf(const JobSetup& setup) {
  std::vector<ModelRow> rows;
  for (const int64_t ranks : setup.ranks) {
    roofline::ModelJob job = setup.JobOn(ranks);
    job.recipe = "bf16";
    OCTET_ASSIGN_OR_RETURN(
        const ModelEstimate bf16,
        EstimateModel(setup.hardware, setup.shape, job, setup.bound));
    for (const std::string& recipe : setup.recipes) {
      job.recipe = recipe;
      ModelRow row;
      row.recipe = recipe;
      row.ranks = ranks;
      OCTET_ASSIGN_OR_RETURN(
          row.estimate,
          EstimateModel(setup.hardware, setup.shape, job, setup.bound));
      row.fits = setup.hardware.memory_bytes <= 0.0 ? "unknown"
                 : row.estimate.fits                ? "yes"
                                                    : "no";
      row.speedup = bf16.seconds / row.estimate.seconds;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// Which layers to convert, and what each wins.
std::string LayersText(const ModelRow& row) {
  std::string text =
      absl::StrCat("\n", row.recipe, ", each block's layers on ",
                   GpusText(row.ranks), ", forward and backward of a pass:\n");
  for (const roofline::ModelLayer& layer : row.estimate.layers) {
    absl::StrAppendFormat(
        &text, "  %-8s %d x %d x %d: bf16 %s, float8 %s (casts %s): %s %.2f\n",
        layer.name, layer.sizes.m, layer.sizes.k, layer.sizes.n,
        TimeLabel(layer.bf16_seconds), TimeLabel(layer.float8_seconds()),
        TimeLabel(layer.float8_cast_seconds),
        layer.speedup() > 1.0 ? "convert, faster by" : "keep bf16, float8 is",
        layer.speedup());
  }
  return text;
}

std::string Above(const JobSetup& setup, const std::vector<ModelRow>& rows) {
  const ModelEstimate& first = rows.front().estimate;
  std::string text = absl::StrFormat(
      "%s on %s (%s rates): %.4g G parameters, %.4g GFLOP a token "
      "(6 (N - N_embedding) + 12 L H head_dim T), MFU of %.4g TFLOP/s, dense "
      "bf16\n",
      setup.model, setup.hardware.name,
      setup.bound.rates == roofline::Rates::kCalibrated ? "calibrated"
                                                        : "peak times share",
      first.parameters * 1e-9, first.flops_per_token * 1e-9,
      setup.hardware.bf16_flops * 1e-12);
  for (const ModelRow& row : rows) {
    if (row.recipe != "bf16" && row.ranks == rows.back().ranks) {
      absl::StrAppend(&text, LayersText(row));
    }
  }
  return absl::StrCat(text, "\n");
}

absl::StatusOr<RooflineOutput> RunModel(const CommandLine& line) {
  OCTET_RETURN_IF_ERROR(CheckOutfileWord(line, "model"));
  OCTET_ASSIGN_OR_RETURN(const JobSetup setup,
                         JobSetupOf(line, "bf16,tensorwise"));
  const absl::StatusOr<std::vector<ModelRow>> all = RowsOf(setup);
  if (!all.ok()) {
    return WithAllMissing(all.status(), setup.lookups.get(),
                          [&] { RowsOf(setup).IgnoreError(); });
  }
  const std::vector<ModelRow>& rows = *all;
  Table table = ModelTable();
  for (const ModelRow& row : rows) table.AddRow(CellsOf(row));
  RooflineOutput output;
  const std::string warning = MfuWarning(setup, rows);
  if (!warning.empty())
    output.notes = absl::StrCat("roofline: ", warning, "\n");
  if (WantsPage(line)) {
    OCTET_ASSIGN_OR_RETURN(roofline::Report report,
                           ModelPage(setup, rows, table));
    report.command = CommandText("model", line);
    OCTET_RETURN_IF_ERROR(WritePage(line, report, &output));
  }
  OCTET_ASSIGN_OR_RETURN(RooflineOutput table_output,
                         Deliver(line, Above(setup, rows), table));
  table_output.notes = output.notes + table_output.notes;
  return table_output;
}

}  // namespace

const RooflineCommand& ModelCommand() {
  static const auto& command = *new RooflineCommand{
      "model", "a training step of a whole Llama, on 1 to many GPUs",
      JoinFlags({JobFlags(), HardwareFlags(), OutputFlags(), PageFlags()}),
      absl::StrCat(JobUsage(), HardwareUsage(), OutputUsage(), PageUsage(),
                   "\nexamples:\n"
                   "  roofline model --model=llama3_8b --recompute=full\n"
                   "  roofline model --model=llama3_70b --ranks=64,512,4096 "
                   "--gather=fp8 --html=70b.html\n"
                   "  roofline model --model=DIR/config.json --sequence=4096 "
                   "--batch=4 --recipe=blockwise\n"),
      &RunModel};
  return command;
}

}  // namespace octet::tools
