// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "roofline/bound.h"
#include "roofline/model/model.h"
#include "roofline/report/pictures.h"
#include "tools/roofline/input/measurements.h"
#include "tools/roofline/input/shapes.h"
#include "tools/roofline/linear_page.h"
#include "tools/roofline/model_options.h"
#include "tools/roofline/options.h"
#include "tools/roofline/page.h"
#include "tools/roofline/table.h"

namespace octet::tools {
namespace {

constexpr double kClose = 0.10;
constexpr double kNear = 0.25;
constexpr double kGib = 1 << 30;
// A few tokens of a batch may not count, and times are rounded.
constexpr double kSameTokens = 0.02;

struct Comparison {
  double measured = 0, predicted = 0;
  double ratio() const { return predicted / measured; }
  // 1.25 and 0.8 are as far off as each other.
  double distance() const { return std::abs(std::log(ratio())); }
  std::string within() const {
    const double off = std::abs(ratio() - 1.0);
    return off <= kClose ? "10%" : off <= kNear ? "25%" : "outside";
  }
};

struct LayerComparison {
  LinearMeasurement measured;
  Comparison seconds;
  roofline::RooflinePoint point;  // of the measurement
};

std::string Summary(const std::vector<Comparison>& all) {
  size_t close = 0, near = 0;
  for (const Comparison& c : all) {
    const std::string within = c.within();
    if (within == "10%") ++close;
    if (within != "outside") ++near;
  }
  return absl::StrFormat(
      "%d of %d within 10%%, %d within 25%%; ratio is predicted / measured, "
      "worst first\n",
      close, all.size(), near);
}

// Worst first; the order of the file where two are equally far off.
absl::StatusOr<std::vector<LayerComparison>> CompareLayers(
    const CommandLine& line, const LinearSetup& setup,
    const std::vector<LinearMeasurement>& measured) {
  std::map<std::string, roofline::LinearModel> models;
  std::vector<LayerComparison> all;
  for (const LinearMeasurement& m : measured) {
    auto model = models.find(m.recipe);
    if (model == models.end()) {
      OCTET_RETURN_IF_ERROR(CheckRecipe(line, m.recipe, setup.hardware));
      LinearSetup with_recipe = setup;
      with_recipe.options.recipe = m.recipe;
      OCTET_ASSIGN_OR_RETURN(roofline::LinearModel made, ModelOf(with_recipe));
      model = models.emplace(m.recipe, std::move(made)).first;
    }
    OCTET_ASSIGN_OR_RETURN(const roofline::LinearBound bound,
                           model->second.Bound(m.sizes));
    LayerComparison c;
    c.measured = m;
    c.seconds = {m.seconds, bound.seconds};
    c.point = LinearPoint(model->second.kernels(), m.sizes, m.seconds);
    c.point.series = m.recipe;
    c.point.label = absl::StrCat(m.sizes.m, " x ", m.sizes.k, " x ", m.sizes.n);
    all.push_back(std::move(c));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const LayerComparison& a, const LayerComparison& b) {
                     return a.seconds.distance() > b.seconds.distance();
                   });
  return all;
}

roofline::Report LayersPage(const LinearSetup& setup,
                            const std::vector<LayerComparison>& all,
                            const std::string& summary, const Table& table) {
  roofline::Report report;
  report.title =
      absl::StrCat("Measured against predicted on ", setup.hardware.name);
  roofline::RooflinePlot plot =
      PlotOf(setup.hardware, "Measured (full) and predicted (hollow)");
  roofline::StackedBars bars;
  bars.title = "The worst: measured and predicted";
  bars.parts = {"measured", "predicted"};
  for (const LayerComparison& c : all) {
    plot.points.push_back(c.point);
    roofline::RooflinePoint predicted = c.point;
    predicted.flops_per_second /= c.seconds.ratio();
    predicted.is_predicted = true;
    plot.points.push_back(std::move(predicted));
    if (bars.bars.size() >= 8) continue;
    const std::string name =
        absl::StrCat(c.measured.recipe, " ", c.point.label);
    const double full = std::max(c.seconds.measured, c.seconds.predicted);
    bars.bars.push_back(
        {absl::StrCat(name, ", measured"), {c.seconds.measured, 0.0}, full});
    bars.bars.push_back(
        {absl::StrCat(name, ", predicted"), {0.0, c.seconds.predicted}, full});
  }
  roofline::ReportSection section;
  section.heading = "Linear layers, forward and backward";
  section.paragraphs = {summary};
  section.pictures = {{"roofline", RooflinePlotSvg(plot)},
                      {"worst", StackedBarsSvg(bars)}};
  section.table = PageTable(table);
  report.sections.push_back(std::move(section));
  return report;
}

absl::StatusOr<RooflineOutput> Finish(const CommandLine& line,
                                      absl::string_view above,
                                      const Table& table,
                                      roofline::Report report) {
  RooflineOutput written;
  if (WantsPage(line)) {
    report.command = CommandText("compare", line);
    OCTET_RETURN_IF_ERROR(WritePage(line, report, &written));
  }
  // The word is the file that was read, not one to write.
  CommandLine output = line;
  output.words.clear();
  OCTET_ASSIGN_OR_RETURN(RooflineOutput delivered,
                         Deliver(output, above, table));
  delivered.notes = written.notes + delivered.notes;
  return delivered;
}

absl::StatusOr<RooflineOutput> RunLayers(const CommandLine& line,
                                         const std::string& path) {
  std::vector<FlagSpec> others = JobFlags();
  others.push_back({"skip"});
  for (const FlagSpec& flag : others) {
    if (line.Has(flag.name) && flag.name != "fused_producer") {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag.name, " is of a run's metrics (.jsonl), and ",
                       path, " has linear layers"));
    }
  }
  OCTET_ASSIGN_OR_RETURN(
      const std::string counter,
      line.GetChoice("counter", {"device_us", "graph_us", "wall_us"}));
  OCTET_ASSIGN_OR_RETURN(
      LinearSetup setup,
      SetupOf(line, roofline::CostModel::kOctet, "roofline"));
  setup.options.fused_producer = line.GetBool("fused_producer", false);
  OCTET_ASSIGN_OR_RETURN(const std::vector<LinearMeasurement> measured,
                         absl::EndsWith(path, ".csv")
                             ? ReadMeasuredCsv(path)
                             : ReadBenchmarkJson(path, counter));
  OCTET_ASSIGN_OR_RETURN(const std::vector<LayerComparison> all,
                         CompareLayers(line, setup, measured));
  Table table({{"recipe", CellStyle::kText},
               {"M", CellStyle::kWhole},
               {"K", CellStyle::kWhole},
               {"N", CellStyle::kWhole},
               {"measured_s", CellStyle::kSeconds, "measured us"},
               {"predicted_s", CellStyle::kSeconds, "predicted us"},
               {"ratio", CellStyle::kRatio},
               {"within", CellStyle::kText}});
  std::vector<Comparison> comparisons;
  for (const LayerComparison& c : all) {
    table.AddRow({c.measured.recipe, c.measured.sizes.m, c.measured.sizes.k,
                  c.measured.sizes.n, c.seconds.measured, c.seconds.predicted,
                  c.seconds.ratio(), c.seconds.within()});
    comparisons.push_back(c.seconds);
  }
  const std::string summary = Summary(comparisons);
  return Finish(
      line,
      absl::StrCat(path, " against ", setup.hardware.name, "\n", summary, "\n"),
      table, LayersPage(setup, all, summary, table));
}

struct Quantity {
  std::string name;
  Comparison values;
};

roofline::Report RunPage(const JobSetup& setup,
                         const roofline::ModelEstimate& e,
                         const RunMeasurement& run, const std::string& summary,
                         const Table& table) {
  roofline::Report report;
  report.title =
      absl::StrCat("A run of ", setup.model, " against ", setup.hardware.name);
  report.facts = {{"Recipe", setup.job.recipe},
                  {"GPUs", absl::StrCat(setup.job.ranks)},
                  {"Steps measured", absl::StrCat(run.steps)}};
  roofline::StackedBars bars;
  bars.title = "One step: predicted by part, and measured";
  roofline::StackedBar predicted, measured;
  predicted.label = "predicted";
  for (const roofline::ModelPart& part : ListParts(e.parts)) {
    bars.parts.push_back(part.name);
    predicted.seconds.push_back(part.seconds);
    measured.seconds.push_back(0.0);
  }
  bars.parts.push_back("measured");
  measured.label = "measured";
  measured.seconds.push_back(run.seconds);
  bars.bars = {std::move(predicted), std::move(measured)};
  roofline::ReportSection section;
  section.heading = "A training step";
  section.paragraphs = {summary};
  section.pictures = {{"parts", StackedBarsSvg(bars)}};
  section.table = PageTable(table);
  report.sections.push_back(std::move(section));
  return report;
}

// Quantities of steps that differ in size are not compared.
absl::Status CheckTokens(const JobSetup& setup, const RunMeasurement& run,
                         const std::string& path) {
  const roofline::ModelJob& job = setup.job;
  const double tokens =
      static_cast<double>(job.batch) * static_cast<double>(job.sequence) *
      static_cast<double>(job.microbatches) * static_cast<double>(job.ranks);
  if (std::abs(run.tokens / tokens - 1.0) <= kSameTokens) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s has %.0f tokens a step, and the job %.0f: --batch=%d of "
      "--sequence=%d, --microbatches=%d, --ranks=%d",
      path, run.tokens, tokens, job.batch, job.sequence, job.microbatches,
      job.ranks));
}

std::string RunWarnings(const JobSetup& setup, const RunMeasurement& run,
                        const std::string& path) {
  std::string text;
  if (run.half_line > 0) {
    absl::StrAppend(&text, "roofline: ", path, ":", run.half_line,
                    " is half a line, of a run that was stopped: left out\n");
  }
  const double mfu = run.tflops * 1e12 / static_cast<double>(setup.job.ranks) /
                     setup.hardware.bf16_flops;
  if (mfu > 1.0 && setup.job.recipe == "bf16") {
    absl::StrAppendFormat(
        &text,
        "roofline: the run has %.1f%% of %s's dense bf16 peak: another GPU, "
        "another number of GPUs (--ranks), or FLOPs counted otherwise\n",
        mfu * 100, setup.hardware.name);
  }
  return text;
}

absl::StatusOr<RooflineOutput> RunMetrics(const CommandLine& line,
                                          const std::string& path) {
  if (line.Has("counter")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--counter is of linear_benchmark's JSON, and ", path, " is a run"));
  }
  OCTET_ASSIGN_OR_RETURN(const JobSetup setup, JobSetupOf(line, "tensorwise"));
  if (setup.recipes.size() > 1 || setup.ranks.size() > 1) {
    return absl::InvalidArgumentError("a run has one --recipe and one --ranks");
  }
  OCTET_ASSIGN_OR_RETURN(const int64_t skip,
                         line.GetInt("skip", 5, 0, 1 << 30));
  OCTET_ASSIGN_OR_RETURN(const RunMeasurement run, ReadMetrics(path, skip));
  OCTET_RETURN_IF_ERROR(CheckTokens(setup, run, path));
  OCTET_ASSIGN_OR_RETURN(
      const roofline::ModelEstimate e,
      EstimateModel(setup.hardware, setup.shape, setup.job, setup.bound));
  const double ranks = static_cast<double>(setup.job.ranks);
  std::vector<Quantity> all = {
      {"step_s", {run.seconds, e.seconds}},
      {"tokens_per_second", {run.tokens_per_second, e.tokens_per_second}},
      {"tflops", {run.tflops, e.flops_per_second_per_gpu * ranks * 1e-12}},
      {"mfu", {run.tflops * 1e12 / ranks / setup.hardware.bf16_flops, e.mfu}},
      {"memory_gib", {run.memory_gib, e.memory.total() / kGib}}};
  std::stable_sort(all.begin(), all.end(),
                   [](const Quantity& a, const Quantity& b) {
                     return a.values.distance() > b.values.distance();
                   });
  Table table({{"quantity", CellStyle::kText},
               {"measured", CellStyle::kNumber},
               {"predicted", CellStyle::kNumber},
               {"ratio", CellStyle::kRatio},
               {"within", CellStyle::kText}});
  std::vector<Comparison> comparisons;
  for (const Quantity& q : all) {
    table.AddRow({q.name, q.values.measured, q.values.predicted,
                  q.values.ratio(), q.values.within()});
    comparisons.push_back(q.values);
  }
  const std::string summary = Summary(comparisons);
  OCTET_ASSIGN_OR_RETURN(
      RooflineOutput output,
      Finish(line,
             absl::StrFormat(
                 "%s, median of %d steps, against %s, %s on %d GPUs of "
                 "%s\n%s\n",
                 path, run.steps, setup.model, setup.job.recipe,
                 setup.job.ranks, setup.hardware.name, summary),
             table, RunPage(setup, e, run, summary, table)));
  output.notes = RunWarnings(setup, run, path) + output.notes;
  return output;
}

absl::StatusOr<RooflineOutput> RunCompare(const CommandLine& line) {
  if (line.words.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "compare takes one FILE (metrics.jsonl of a run, linear_benchmark's "
        ".json, or a .csv), there are ",
        line.words.size()));
  }
  const std::string& path = line.words[0];
  if (absl::EndsWith(path, ".jsonl")) return RunMetrics(line, path);
  if (absl::EndsWith(path, ".json") || absl::EndsWith(path, ".csv")) {
    return RunLayers(line, path);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path,
      " ends in none of .jsonl, .json, .csv; a run's model is --model=NAME"));
}

}  // namespace

const RooflineCommand& CompareCommand() {
  static const auto& command = *new RooflineCommand{
      "compare", "what was measured against what is predicted",
      JoinFlags({{{"counter"}, {"skip"}},
                 JobFlags(),
                 HardwareFlags(),
                 OutputFlags(),
                 PageFlags()}),
      absl::StrCat(
          "  FILE.jsonl               metrics of a run: seconds, "
          "tokens_per_second, tflops and\n"
          "                           memory_gib of each line (tflops: of all "
          "GPUs); with:\n"
          "  --skip=5                 steps at the start that do not count\n",
          JobUsage(),
          "  FILE.json                of linear_benchmark, "
          "--benchmark_format=json; with:\n"
          "  --counter=device_us|graph_us|wall_us   which of its times\n"
          "  FILE.csv                 with the columns "
          "recipe,M,K,N,seconds\n"
          "for all of them:\n",
          HardwareUsage(), OutputUsage(), PageUsage(),
          "\nexamples:\n"
          "  roofline compare outputs/train/metrics.jsonl --model=llama3_8b "
          "--recompute=full\n"
          "  roofline compare linear.json --html=linear.html\n"),
      &RunCompare};
  return command;
}

}  // namespace octet::tools
