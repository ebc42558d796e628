// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/model_page.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "roofline/model/job.h"
#include "roofline/report/pictures.h"
#include "tools/roofline/page.h"

namespace octet::tools {
namespace {

using roofline::HeatMap;
using roofline::ModelEstimate;
using roofline::ModelJob;
using roofline::SizeLabel;

constexpr double kGib = 1 << 30;

absl::StatusOr<ModelEstimate> Estimate(const JobSetup& setup,
                                       const ModelJob& job) {
  return EstimateModel(setup.hardware, setup.shape, job, setup.bound);
}

// bf16's seconds over the recipe's.
absl::StatusOr<double> StepSpeedup(const JobSetup& setup, ModelJob job,
                                   const std::string& recipe) {
  job.recipe = "bf16";
  OCTET_ASSIGN_OR_RETURN(const ModelEstimate bf16, Estimate(setup, job));
  job.recipe = recipe;
  OCTET_ASSIGN_OR_RETURN(const ModelEstimate float8, Estimate(setup, job));
  return bf16.seconds / float8.seconds;
}

roofline::ReportPicture StepMap(const JobSetup& setup,
                                const std::string& recipe) {
  HeatMap map;
  map.title = absl::StrCat("Step: ", recipe, " against bf16");
  map.x_name = "GPUs";
  map.y_name = "sequence";
  for (int64_t ranks = 1; ranks <= 4096; ranks *= 8) {
    map.x.push_back(SizeLabel(ranks));
  }
  for (int64_t sequence = 512; sequence <= 131072; sequence *= 4) {
    map.y.push_back(SizeLabel(sequence));
    for (int64_t ranks = 1; ranks <= 4096; ranks *= 8) {
      ModelJob job = setup.job;
      job.sequence = sequence;
      job.ranks = ranks;
      job.shard_ranks = setup.shard_ranks;
      // A copy has as many GPUs as asked for, or all.
      if (job.shard_ranks > ranks ||
          ranks % std::max<int64_t>(job.shard_ranks, 1) != 0) {
        job.shard_ranks = 0;
      }
      // A card without a network has no value there.
      const absl::StatusOr<double> speedup = StepSpeedup(setup, job, recipe);
      map.values.push_back(
          speedup.ok() ? *speedup : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return {absl::StrCat("step-", recipe), HeatMapSvg(map)};
}

absl::StatusOr<roofline::ReportPicture> LayerMap(const JobSetup& setup,
                                                 const ModelRow& row) {
  HeatMap map;
  map.title = absl::StrCat("Layers: ", row.recipe, " against bf16");
  map.x_name = "tokens of a pass";
  map.y_name = "layer";
  for (const roofline::ModelLinear& linear : ModelLinears(setup.shape, 1)) {
    map.y.push_back(linear.name);
  }
  std::vector<std::vector<double>> columns;
  for (int64_t tokens = 64; tokens <= 65536; tokens *= 4) {
    map.x.push_back(SizeLabel(tokens));
    ModelJob job = setup.JobOn(row.ranks);
    job.batch = 1;
    job.sequence = tokens;
    job.recipe = row.recipe;
    OCTET_ASSIGN_OR_RETURN(const ModelEstimate e, Estimate(setup, job));
    std::vector<double>& column = columns.emplace_back();
    for (const roofline::ModelLayer& layer : e.layers) {
      column.push_back(layer.speedup());
    }
  }
  for (size_t row = 0; row < map.y.size(); ++row) {
    for (const std::vector<double>& column : columns) {
      map.values.push_back(column[row]);
    }
  }
  return roofline::ReportPicture{absl::StrCat("layers-", row.recipe),
                                 HeatMapSvg(map)};
}

roofline::ReportPicture Parts(const std::vector<ModelRow>& rows) {
  roofline::StackedBars bars;
  bars.title = "One step by part";
  for (const roofline::ModelPart& part : ListParts(rows[0].estimate.parts)) {
    bars.parts.push_back(part.name);
  }
  for (const ModelRow& row : rows) {
    roofline::StackedBar& bar = bars.bars.emplace_back();
    bar.label = absl::StrCat(row.recipe, ", ", GpusText(row.ranks));
    for (const roofline::ModelPart& part : ListParts(row.estimate.parts)) {
      bar.seconds.push_back(part.seconds);
    }
  }
  return {"parts", StackedBarsSvg(bars)};
}

// Where each layer stands: its three products' FLOPs over the bytes that they
// move, and over its time with casts.
roofline::ReportPicture LayersPlot(const JobSetup& setup, const ModelRow& row) {
  roofline::RooflinePlot plot =
      PlotOf(setup.hardware, absl::StrCat("Layers on ", setup.hardware.name));
  for (const roofline::ModelLayer& layer : row.estimate.layers) {
    const double m = static_cast<double>(layer.sizes.m);
    const double k = static_cast<double>(layer.sizes.k);
    const double n = static_cast<double>(layer.sizes.n);
    const double flops = 6.0 * m * k * n;
    // Each operand is read by two products, each result written once.
    const double read = 2.0 * (m * k + k * n + m * n);
    const double written = 2.0 * (m * k + k * n + m * n);
    plot.points.push_back({"bf16", layer.name, flops / (2.0 * read + written),
                           flops / layer.bf16_seconds, true});
    if (row.recipe == "bf16") continue;
    plot.points.push_back({row.recipe, layer.name, flops / (read + written),
                           flops / layer.float8_seconds(), true});
  }
  return {"roofline", RooflinePlotSvg(plot)};
}

roofline::ReportSection Layers(const JobSetup& setup, const ModelRow& row) {
  roofline::ReportSection section;
  section.heading = absl::StrCat("Layers of a block, ", row.recipe, " on ",
                                 GpusText(row.ranks));
  section.paragraphs = {
      "Forward and backward of one pass, with casts. Points of the roofline "
      "are predicted."};
  section.pictures.push_back(LayersPlot(setup, row));
  section.table.columns = {"layer", "M x K x N", "bf16",   "float8",
                           "casts", "speed-up",  "convert"};
  for (const roofline::ModelLayer& layer : row.estimate.layers) {
    section.table.rows.push_back(
        {layer.name,
         absl::StrCat(layer.sizes.m, " x ", layer.sizes.k, " x ",
                      layer.sizes.n),
         roofline::TimeLabel(layer.bf16_seconds),
         roofline::TimeLabel(layer.float8_seconds()),
         roofline::TimeLabel(layer.float8_cast_seconds),
         absl::StrFormat("%.2f", layer.speedup()),
         layer.speedup() > 1.0 ? "yes" : "no"});
  }
  return section;
}

roofline::ReportSection Memory(const std::vector<ModelRow>& rows) {
  roofline::ReportSection section;
  section.heading = "Peak memory of a GPU, GiB";
  section.table.columns = {"recipe",    "GPUs",    "master",      "moments",
                           "gradients", "weights", "activations", "logits",
                           "runtime",   "all",     "fits"};
  for (const ModelRow& row : rows) {
    const roofline::ModelMemory& m = row.estimate.memory;
    std::vector<std::string> cells = {row.recipe, absl::StrCat(row.ranks)};
    for (const double bytes : {m.master, m.moments, m.gradients, m.weights,
                               m.activations, m.logits, m.runtime, m.total()}) {
      cells.push_back(absl::StrFormat("%.2f", bytes / kGib));
    }
    cells.push_back(row.fits);
    section.table.rows.push_back(std::move(cells));
  }
  return section;
}

size_t ColumnOf(const Table& table, const std::string& title) {
  const std::vector<std::string> header = table.TextHeader();
  return std::find(header.begin(), header.end(), title) - header.begin();
}

// The first two, which name the row, and [from, to).
roofline::ReportTable Columns(const roofline::ReportTable& table, size_t from,
                              size_t to) {
  const auto pick = [&](const std::vector<std::string>& all) {
    std::vector<std::string> some(all.begin(), all.begin() + 2);
    some.insert(some.end(), all.begin() + from, all.begin() + to);
    return some;
  };
  roofline::ReportTable out;
  out.columns = pick(table.columns);
  for (const auto& row : table.rows) out.rows.push_back(pick(row));
  return out;
}

std::vector<roofline::ReportFact> Facts(const JobSetup& setup,
                                        const ModelRow& row) {
  const ModelEstimate& e = row.estimate;
  return {{"GPU", setup.hardware.name},
          {"Recipe", row.recipe},
          {"GPUs", absl::StrCat(row.ranks)},
          {"Tokens/s per GPU",
           absl::StrFormat("%.0f", e.tokens_per_second_per_gpu)},
          {"Speed-up over bf16", absl::StrFormat("%.2f", row.speedup)},
          {"TFLOP/s per GPU",
           absl::StrFormat("%.0f", e.flops_per_second_per_gpu * 1e-12)},
          {absl::StrFormat("MFU of %.4g TFLOP/s, dense bf16",
                           setup.hardware.bf16_flops * 1e-12),
           absl::StrFormat("%.1f%%", e.mfu * 100)},
          {row.fits == "unknown"
               ? std::string("Peak memory, the GPU's is unknown")
               : absl::StrFormat("Peak memory of %.0f GiB",
                                 setup.hardware.memory_bytes / kGib),
           absl::StrFormat("%.1f GiB%s", e.memory.total() / kGib,
                           row.fits == "no" ? ": too much" : "")}};
}

}  // namespace

std::string GpusText(int64_t count) {
  return absl::StrCat(count, count == 1 ? " GPU" : " GPUs");
}

std::string MfuWarning(const JobSetup& setup,
                       const std::vector<ModelRow>& rows) {
  std::string where;
  bool is_float8 = true;
  for (const ModelRow& row : rows) {
    if (row.estimate.mfu <= 1.0) continue;
    absl::StrAppend(
        &where, where.empty() ? "" : "; ",
        absl::StrFormat("%.1f%% for %s on %s", row.estimate.mfu * 100,
                        row.recipe, GpusText(row.ranks)));
    is_float8 = is_float8 && row.recipe != "bf16";
  }
  if (where.empty()) return "";
  return absl::StrCat(
      "MFU above 100% (", where, "), of ",
      absl::StrFormat("%.4g TFLOP/s, %s's dense bf16 peak",
                      setup.hardware.bf16_flops * 1e-12, setup.hardware.name),
      is_float8 ? ": float8 products can be faster than that"
                : ": bf16 cannot, check the card's peak and rates");
}

absl::StatusOr<roofline::Report> ModelPage(const JobSetup& setup,
                                           const std::vector<ModelRow>& rows,
                                           const Table& table) {
  const ModelRow& last = rows.back();
  roofline::Report report;
  report.title = absl::StrCat(setup.model, " on ", setup.hardware.name);
  report.facts = Facts(setup, last);
  roofline::ReportSection steps;
  steps.heading = "A training step";
  steps.paragraphs = {absl::StrFormat(
      "Batch %d of %d tokens a GPU, passes a step: %d. FLOPs are 6 (N - "
      "N_embedding) + 12 L H head_dim T a token: the causal half is not "
      "discounted, recompute not counted. Predicted, not measured.",
      setup.job.batch, setup.job.sequence, setup.job.microbatches)};
  const std::string warning = MfuWarning(setup, rows);
  if (!warning.empty()) {
    steps.paragraphs.push_back(absl::StrCat("Warning: ", warning, "."));
  }
  steps.pictures.push_back(Parts(rows));
  if (last.recipe != "bf16") {
    OCTET_ASSIGN_OR_RETURN(roofline::ReportPicture layers,
                           LayerMap(setup, last));
    steps.pictures.push_back(StepMap(setup, last.recipe));
    steps.pictures.push_back(std::move(layers));
  }
  const size_t parts = ColumnOf(table, "gemm");
  steps.table = Columns(PageTable(table), 2, parts);
  report.sections.push_back(std::move(steps));
  roofline::ReportSection times;
  times.heading = "Parts of the step, ms";
  times.paragraphs = {
      "Communication is exposed where no computation covers it. Attention, the "
      "head, the optimizer and elementwise work do not shrink with float8."};
  times.table = Columns(PageTable(table), parts, table.TextHeader().size());
  report.sections.push_back(std::move(times));
  report.sections.push_back(Layers(setup, last));
  report.sections.push_back(Memory(rows));
  return report;
}

}  // namespace octet::tools
