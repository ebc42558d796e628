// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/linear.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "roofline/bound.h"
#include "roofline/cost.h"
#include "roofline/report/page.h"
#include "tools/roofline/gemm_times.h"
#include "tools/roofline/input/gemm_cache.h"
#include "tools/roofline/input/shapes.h"
#include "tools/roofline/linear_page.h"
#include "tools/roofline/options.h"
#include "tools/roofline/page.h"
#include "tools/roofline/table.h"

namespace octet::tools {
namespace {

using roofline::CostModel;
using roofline::LinearBound;

constexpr size_t kOurColumns = 16;
constexpr size_t kOtherColumn = 9;   // and communication after it
constexpr size_t kCachedColumn = 8;  // bf16's, and fp8's after it

// "roofline", "measured", or "interpolated" where one of the three was.
std::string GemmSource(const GemmLookups* lookups, const GemmLookups& before) {
  if (lookups == nullptr) return "roofline";
  return lookups->interpolated > before.interpolated ? "interpolated"
                                                     : "measured";
}

// Which sizes cuBLASLt's float8 products have filled up; "": none.
std::string PaddingOf(const LinearSetup& setup, const roofline::Sizes& sizes) {
  if (setup.options.recipe == "bf16") return "";
  std::vector<absl::string_view> names;
  if (sizes.m % 16 != 0) names.push_back("M");
  if (sizes.k % 16 != 0) names.push_back("K");
  if (sizes.n % 16 != 0) names.push_back("N");
  if (names.empty()) return "";
  return absl::StrCat(absl::StrJoin(names, ", "),
                      names.size() == 1 ? " is" : " are",
                      " no multiple of 16: padded inside");
}

// Text shows the columns after the casts only where they are not all zero, so
// that those shown add up.
Table OurTable(const std::vector<std::vector<Cell>>& rows) {
  const auto style = [&](size_t column) {
    const bool is_used = absl::c_any_of(rows, [&](const auto& row) {
      const double* seconds = std::get_if<double>(&row[column]);
      return seconds != nullptr && *seconds > 0;
    });
    return is_used ? CellStyle::kSeconds : CellStyle::kDataOnly;
  };
  Table table(
      {{"layer", CellStyle::kText},
       {"M", CellStyle::kWhole},
       {"K", CellStyle::kWhole},
       {"N", CellStyle::kWhole},
       {"count", CellStyle::kDataOnly},
       {"bf16_gemm_s", CellStyle::kDataOnly},
       {"bf16_s", CellStyle::kSeconds, "bf16 us"},
       {"fp8_gemm_s", CellStyle::kSeconds, "fp8 gemm us"},
       {"fp8_overhead_s", CellStyle::kSeconds, "casts us"},
       {"fp8_other_s", style(kOtherColumn), "other us"},
       {"fp8_exposed_communication_s", style(kOtherColumn + 1), "wire us"},
       {"fp8_s", CellStyle::kSeconds, "fp8 us"},
       {"speedup", CellStyle::kRatio},
       {"limit", CellStyle::kText},
       {"gemm_times", CellStyle::kText, "GEMM times"},
       {"reason", CellStyle::kText, "why not"}});
  for (const auto& row : rows) table.AddRow(row);
  return table;
}

std::vector<Cell> OurRow(const LayerShape& shape, const LinearBound& b,
                         std::string gemm_source, std::string padding) {
  return {shape.layer,
          shape.sizes.m,
          shape.sizes.k,
          shape.sizes.n,
          shape.count,
          b.bf16_gemm_seconds,
          b.bf16_seconds,
          b.gemm_seconds,
          b.overhead_seconds,
          b.other_seconds,
          b.exposed_seconds,
          b.seconds,
          b.speedup,
          std::string(roofline::LimitName(b.limit)),
          std::move(gemm_source),
          std::move(padding)};
}

// A shape that has no result keeps the columns, and says why.
std::vector<Cell> RowWithoutResult(const LayerShape& shape,
                                   absl::string_view reason) {
  std::vector<Cell> row = {shape.layer, shape.sizes.m, shape.sizes.k,
                           shape.sizes.n, shape.count};
  row.resize(kOurColumns);
  row.back() = std::string(reason);
  return row;
}

Table Pr668Table() {
  return Table({{"", CellStyle::kDataOnly},
                {"M", CellStyle::kWhole},
                {"K", CellStyle::kWhole},
                {"N", CellStyle::kWhole},
                {"bf16_time_s", CellStyle::kSeconds, "bf16 us"},
                {"fp8_gemm_time_s", CellStyle::kSeconds, "fp8 gemm us"},
                {"fp8_mem_time_s", CellStyle::kSeconds, "fp8 mem us"},
                {"fp8_time_s", CellStyle::kSeconds, "fp8 us"},
                {"speedup", CellStyle::kRatio}});
}

std::vector<Cell> Pr668Row(int64_t index, const LayerShape& shape,
                           const LinearBound& b) {
  return {index,
          shape.sizes.m,
          shape.sizes.k,
          shape.sizes.n,
          b.bf16_gemm_seconds,
          b.gemm_seconds,
          b.overhead_seconds,
          b.seconds,
          b.speedup};
}

// Of #1789 and after. Columns b_ and rb_ are of its own benchmarks, which are
// not run: 0 and -1, as there, but for what a cache of GEMM times has.
Table HeadTable() {
  std::vector<Column> columns = {
      {"fwd_M", CellStyle::kWhole},
      {"fwd_K", CellStyle::kWhole},
      {"fwd_N", CellStyle::kWhole},
      {"r_bf16_gemm_s", CellStyle::kSeconds, "bf16 gemm us"},
      {"r_fp8_gemm_s", CellStyle::kSeconds, "fp8 gemm us"},
      {"r_fp8_ovhd_s", CellStyle::kSeconds, "overhead us"},
      {"r_fp8_gemm_and_ovhd_s", CellStyle::kSeconds, "fp8 us"},
      {"r_fp8_gemm_and_ovhd_spdp", CellStyle::kRatio, "speedup"}};
  for (const char* name :
       {"b_bf16_gemm_s", "b_fp8_gemm_s", "b_bf16_e2e_s", "b_fp8_e2e_s",
        "b_fp8_e2e_spdp", "rb_bf16_gemm_ratio", "rb_fp8_gemm_ratio"}) {
    columns.push_back({name, CellStyle::kDataOnly});
  }
  return Table(std::move(columns));
}

std::vector<Cell> HeadRow(const LayerShape& shape, const LinearBound& b,
                          const std::optional<GemmCache::Seconds>& measured) {
  const int64_t none = 0, no_ratio = -1;
  std::vector<Cell> row = {shape.sizes.m,  shape.sizes.k,
                           shape.sizes.n,  b.bf16_gemm_seconds,
                           b.gemm_seconds, b.overhead_seconds,
                           b.seconds,      b.speedup,
                           none,           none,
                           none,           none,
                           none,           no_ratio,
                           no_ratio};
  if (measured.has_value()) {
    row[kCachedColumn] = measured->bf16;
    row[kCachedColumn + 1] = measured->fp8;
    row[row.size() - 2] = b.bf16_gemm_seconds / measured->bf16;
    row[row.size() - 1] = b.gemm_seconds / measured->fp8;
  }
  return row;
}

struct Counts {
  int64_t faster = 0;
  int64_t failed = 0;
  absl::Status first_error;
};

absl::StatusOr<Table> OurResults(const LinearSetup& setup,
                                 const std::vector<LayerShape>& shapes,
                                 Counts* counts) {
  OCTET_ASSIGN_OR_RETURN(const roofline::LinearModel model, ModelOf(setup));
  std::vector<std::vector<Cell>> rows;
  for (const LayerShape& shape : shapes) {
    const GemmLookups before =
        setup.lookups == nullptr ? GemmLookups{} : *setup.lookups;
    const absl::StatusOr<LinearBound> bound = model.Bound(shape.sizes);
    if (!bound.ok()) {
      if (counts->failed++ == 0) counts->first_error = bound.status();
      rows.push_back(RowWithoutResult(shape, bound.status().message()));
      continue;
    }
    if (bound->speedup > 1.0) ++counts->faster;
    rows.push_back(OurRow(shape, *bound,
                          GemmSource(setup.lookups.get(), before),
                          PaddingOf(setup, shape.sizes)));
  }
  if (counts->failed > 0) {
    counts->first_error =
        WithAllMissing(counts->first_error, setup.lookups.get(), [&] {
          for (const LayerShape& shape : shapes) {
            model.Bound(shape.sizes).IgnoreError();
          }
        });
  }
  return OurTable(rows);
}

absl::StatusOr<Table> TorchaoResults(const LinearSetup& setup,
                                     const std::vector<LayerShape>& shapes,
                                     const std::optional<GemmCache>& cache,
                                     Counts* counts) {
  OCTET_ASSIGN_OR_RETURN(const roofline::LinearModel model, ModelOf(setup));
  const bool is_pr668 = setup.options.model == CostModel::kPr668;
  Table table = is_pr668 ? Pr668Table() : HeadTable();
  int64_t index = 0;
  for (const LayerShape& shape : shapes) {
    // Its columns have no place for a reason.
    OCTET_ASSIGN_OR_RETURN(const LinearBound bound, model.Bound(shape.sizes));
    if (bound.speedup > 1.0) ++counts->faster;
    std::optional<GemmCache::Seconds> measured;
    if (cache.has_value()) {
      OCTET_ASSIGN_OR_RETURN(measured, cache->Layer(shape.sizes));
    }
    table.AddRow(is_pr668 ? Pr668Row(index++, shape, bound)
                          : HeadRow(shape, bound, measured));
  }
  return table;
}

std::string Notes(const LinearSetup& setup, const Counts& counts,
                  size_t num_shapes) {
  std::string notes;
  if (setup.lookups != nullptr && setup.lookups->interpolated > 0) {
    absl::StrAppend(&notes, "roofline: ", setup.lookups->interpolated, " of ",
                    setup.lookups->interpolated + setup.lookups->measured,
                    " GEMM times are interpolated\n");
  }
  if (counts.failed > 0) {
    absl::StrAppend(&notes, "roofline: ", counts.failed, " of ", num_shapes,
                    " shapes have no result; the first: ",
                    counts.first_error.message(), "\n");
  }
  return notes;
}

absl::StatusOr<RooflineOutput> Report(const CommandLine& line,
                                      const LinearSetup& setup,
                                      const std::optional<GemmCache>& cache,
                                      absl::string_view default_shapes) {
  OCTET_ASSIGN_OR_RETURN(const std::vector<LayerShape> shapes,
                         ShapesOf(line, default_shapes));
  Counts counts;
  const bool is_ours = setup.options.model == CostModel::kOctet;
  OCTET_ASSIGN_OR_RETURN(const Table table,
                         is_ours
                             ? OurResults(setup, shapes, &counts)
                             : TorchaoResults(setup, shapes, cache, &counts));
  if (counts.failed == static_cast<int64_t>(shapes.size())) {
    return counts.first_error;
  }
  const std::string above =
      absl::StrCat(setup.ToString(), "float8 is faster for ", counts.faster,
                   " of ", shapes.size(), " shapes\n\n");
  RooflineOutput page;
  page.notes = Notes(setup, counts, shapes.size());
  if (WantsPage(line)) {
    OCTET_ASSIGN_OR_RETURN(roofline::Report report,
                           LinearPage(setup, shapes, table));
    report.command = CommandText("linear", line);
    OCTET_RETURN_IF_ERROR(WritePage(line, report, &page));
  }
  OCTET_ASSIGN_OR_RETURN(RooflineOutput output, Deliver(line, above, table));
  output.notes = page.notes + output.notes;
  return output;
}

absl::StatusOr<RooflineOutput> RunLinear(const CommandLine& line) {
  OCTET_RETURN_IF_ERROR(CheckOutfileWord(line, "shapes"));
  OCTET_RETURN_IF_ERROR(CheckPagePath(line));
  OCTET_ASSIGN_OR_RETURN(const LinearSetup setup,
                         SetupOf(line, CostModel::kOctet, "roofline"));
  OCTET_RETURN_IF_ERROR(CheckSweepSizes(line, "sweep"));
  return Report(line, setup, std::nullopt, "sweep");
}

// Its own measured times, where it has a file of them.
absl::StatusOr<std::optional<GemmCache>> CacheOf(const CommandLine& line,
                                                 const LinearSetup& setup) {
  if (!line.Has("gemm_cache_filename")) return std::optional<GemmCache>();
  const std::string path = line.Get("gemm_cache_filename", "");
  if (setup.options.model != CostModel::kHead &&
      setup.options.model != CostModel::kPr1789) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--gemm_cache_filename=", path, " is of --cost_model=head or pr1789"));
  }
  OCTET_ASSIGN_OR_RETURN(GemmCache cache, GemmCache::Read(path));
  return std::optional<GemmCache>(std::move(cache));
}

absl::StatusOr<RooflineOutput> RunTorchao(const CommandLine& line) {
  if (line.words.empty() && !line.Has("outfile")) {
    return absl::InvalidArgumentError(
        "torchao's form needs a file: OUTFILE.csv or --outfile=OUTFILE.csv");
  }
  bool is_later = false;
  for (const char* flag :
       {"float8_recipe_name", "mx_recipe_name", "enable_fusion_modeling",
        "do_benchmarks", "gemm_cache_filename"}) {
    is_later = is_later || line.Has(flag);
  }
  if (line.GetBool("do_benchmarks", false)) {
    return absl::InvalidArgumentError(
        "--do_benchmarks=true: this tool measures nothing; measure with "
        "gemm_sweep and name the file in --gemm_benchmarks_file");
  }
  // #668 takes measured times unless told otherwise; later forms always have
  // the roofline's.
  OCTET_ASSIGN_OR_RETURN(
      const LinearSetup setup,
      SetupOf(line, is_later ? CostModel::kHead : CostModel::kPr668,
              is_later ? "roofline" : "benchmarks"));
  if (!line.Has("shape_gen_name")) {
    OCTET_RETURN_IF_ERROR(CheckSweepSizes(line, is_later ? "pow2" : "sweep"));
  }
  OCTET_ASSIGN_OR_RETURN(const std::optional<GemmCache> cache,
                         CacheOf(line, setup));
  CommandLine with_format = line;
  with_format.flags.emplace("format", "csv");  // whatever the file's name
  return Report(with_format, setup, cache, is_later ? "pow2" : "sweep");
}

}  // namespace

const RooflineCommand& LinearCommand() {
  static const auto& command = *new RooflineCommand{
      "linear", "one linear layer, forward and backward, for many shapes",
      JoinFlags({ShapeFlags(), HardwareFlags(), ModelFlags(), OutputFlags(),
                 PageFlags()}),
      absl::StrCat(ShapeUsage(), HardwareUsage(), ModelUsage(), OutputUsage(),
                   PageUsage(),
                   "\ndefaults: --shapes=sweep --hardware=H200 "
                   "--recipe=tensorwise --cost_model=octet\n"
                   "roofline hardware --help says what a card's FILE.toml "
                   "has.\n"
                   "\nexamples:\n"
                   "  roofline linear --shapes=llama3_8b --html=8b.html\n"
                   "  roofline linear --hardware=B200 --recipe=mxfp8 "
                   "--shapes=16384x8192x7168\n"
                   "  roofline linear --format=csv --outfile=sweep.csv\n"
                   "  roofline linear --cost_model=head --recipe=rowwise "
                   "--shapes=pow2\n"),
      &RunLinear};
  return command;
}

const RooflineCommand& TorchaoCommand() {
  static const auto& command = *new RooflineCommand{
      "OUTFILE.csv", "as torchao's float8_roofline.py",
      JoinFlags(
          {ShapeFlags(),
           HardwareFlags(),
           ModelFlags(),
           OutputFlags(),
           {{"do_benchmarks", FlagKind::kBool}, {"gemm_cache_filename"}}}),
      absl::StrCat(
          ShapeUsage(), HardwareUsage(), ModelUsage(), OutputUsage(),
          "  --gemm_cache_filename=FILE.json   GEMM times that its script "
          "measured, for the\n"
          "                           columns b_*_gemm_s and rb_*\n"
          "\nexamples:\n"
          "  roofline out.csv --gemm_time_strategy=roofline "
          "--model_torch_compile_limitations=True\n"
          "  roofline out.csv --gemm_time_strategy=benchmarks "
          "--gemm_benchmarks_file=matmul.csv --scaling_type_input=delayed\n"
          "  roofline out.csv --float8_recipe_name=rowwise "
          "--enable_fusion_modeling=True --shape_gen_name=sweep\n"),
      &RunTorchao};
  return command;
}

}  // namespace octet::tools
