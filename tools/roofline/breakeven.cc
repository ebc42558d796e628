// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/breakeven.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "roofline/bound.h"
#include "roofline/cost.h"
#include "roofline/report/page.h"
#include "roofline/report/pictures.h"
#include "tools/roofline/breakeven_page.h"
#include "tools/roofline/input/shapes.h"
#include "tools/roofline/options.h"
#include "tools/roofline/page.h"
#include "tools/roofline/table.h"

namespace octet::tools {
namespace {

constexpr char kDefaultModel[] = "llama3_8b";
constexpr int64_t kDefaultAt = 4096;

struct Range {
  int64_t min, max;
};

absl::StatusOr<Range> RangeOf(const CommandLine& line, int64_t min,
                              int64_t max) {
  Range range;
  OCTET_ASSIGN_OR_RETURN(range.min, line.GetInt("min_size", min, 1, kMaxSize));
  OCTET_ASSIGN_OR_RETURN(
      range.max,
      line.GetInt("max_size", std::max(max, range.min), range.min, kMaxSize));
  return range;
}

absl::StatusOr<double> Speedup(const roofline::LinearModel& model,
                               roofline::Sizes sizes) {
  OCTET_ASSIGN_OR_RETURN(const roofline::LinearBound bound, model.Bound(sizes));
  return bound.speedup;
}

// The smallest M of the range from which on float8 is `wanted` times as fast at
// every doubling; none if it is not at the range's end.
absl::StatusOr<std::optional<int64_t>> SmallestM(
    const roofline::LinearModel& model, roofline::Sizes sizes, Range range,
    double wanted) {
  const auto wins = [&](int64_t m) -> absl::StatusOr<bool> {
    sizes.m = m;
    OCTET_ASSIGN_OR_RETURN(const double speedup, Speedup(model, sizes));
    return speedup >= wanted;
  };
  int64_t loses = 0;  // the largest that does
  int64_t last = range.min;
  for (int64_t m = range.min; m <= range.max; m *= 2) {
    OCTET_ASSIGN_OR_RETURN(const bool is_win, wins(m));
    if (!is_win) loses = m;
    last = m;
  }
  if (loses == last) return std::nullopt;
  if (loses == 0) return range.min;
  int64_t found = 2 * loses;
  while (found - loses > 1) {
    const int64_t middle = loses + (found - loses) / 2;
    OCTET_ASSIGN_OR_RETURN(const bool is_win, wins(middle));
    (is_win ? found : loses) = middle;
  }
  return found;
}

// Each layer over M, which grows fourfold.
absl::StatusOr<SpeedupMap> LayerMap(const roofline::LinearModel& model,
                                    const std::vector<LayerShape>& shapes,
                                    Range range, double wanted) {
  SpeedupMap map{"M", "layer", {}, {}, {}, wanted};
  for (int64_t m = range.min; m <= range.max; m *= 4) {
    map.x.push_back(roofline::SizeLabel(m));
  }
  for (const LayerShape& shape : shapes) {
    map.y.push_back(!shape.layer.empty()
                        ? shape.layer
                        : absl::StrCat(roofline::SizeLabel(shape.sizes.k), "x",
                                       roofline::SizeLabel(shape.sizes.n)));
    roofline::Sizes sizes = shape.sizes;
    for (int64_t m = range.min; m <= range.max; m *= 4) {
      sizes.m = m;
      OCTET_ASSIGN_OR_RETURN(map.speedups.emplace_back(),
                             Speedup(model, sizes));
    }
  }
  return map;
}

absl::Status AddPage(const CommandLine& line, roofline::Report page,
                     RooflineOutput* output) {
  page.command = CommandText("breakeven", line);
  return WritePage(line, page, output);
}

absl::StatusOr<RooflineOutput> LayersOf(const CommandLine& line,
                                        const LinearSetup& setup) {
  OCTET_ASSIGN_OR_RETURN(const std::vector<LayerShape> shapes,
                         ShapesOf(line, kDefaultModel));
  OCTET_ASSIGN_OR_RETURN(const roofline::LinearModel model, ModelOf(setup));
  OCTET_ASSIGN_OR_RETURN(const Range range, RangeOf(line, 16, 1 << 20));
  OCTET_ASSIGN_OR_RETURN(const double wanted,
                         line.GetDouble("speedup", 1.0, 0.01, 100.0));
  Table table({{"layer", CellStyle::kText},
               {"K", CellStyle::kWhole},
               {"N", CellStyle::kWhole},
               {"count", CellStyle::kWhole},
               {"breakeven_M", CellStyle::kWhole, "faster from M"},
               {"M", CellStyle::kWhole, "at M"},
               {"bf16_s", CellStyle::kSeconds, "bf16 us"},
               {"fp8_s", CellStyle::kSeconds, "fp8 us"},
               {"speedup", CellStyle::kRatio}});
  for (const LayerShape& shape : shapes) {
    OCTET_ASSIGN_OR_RETURN(const std::optional<int64_t> m,
                           SmallestM(model, shape.sizes, range, wanted));
    OCTET_ASSIGN_OR_RETURN(const roofline::LinearBound bound,
                           model.Bound(shape.sizes));
    Cell from;
    if (m) from = *m;
    table.AddRow({shape.layer, shape.sizes.k, shape.sizes.n, shape.count, from,
                  shape.sizes.m, bound.bf16_seconds, bound.seconds,
                  bound.speedup});
  }
  const std::string above = absl::StrCat(
      setup.ToString(), "faster: speed-up of ", wanted, " at least; M from ",
      range.min, " to ", range.max, " ('-': not there)\n\n");
  OCTET_ASSIGN_OR_RETURN(RooflineOutput output, Deliver(line, above, table));
  if (WantsPage(line)) {
    OCTET_ASSIGN_OR_RETURN(const SpeedupMap map,
                           LayerMap(model, shapes, range, wanted));
    OCTET_RETURN_IF_ERROR(AddPage(
        line, SpeedupPage(setup, "Layers over M", map, table), &output));
  }
  return output;
}

// The two dimensions of --over, and the third.
struct Plane {
  int64_t roofline::Sizes::*down;
  int64_t roofline::Sizes::*across;
  int64_t roofline::Sizes::*fixed;
  char names[3];
};

absl::StatusOr<Plane> PlaneOf(const std::string& over) {
  using S = roofline::Sizes;
  if (over == "M,N") return Plane{&S::m, &S::n, &S::k, {'M', 'N', 'K'}};
  if (over == "M,K") return Plane{&S::m, &S::k, &S::n, {'M', 'K', 'N'}};
  if (over == "K,N") return Plane{&S::k, &S::n, &S::m, {'K', 'N', 'M'}};
  return absl::InvalidArgumentError(
      absl::StrCat("--over=", over, " is none of M,N or M,K or K,N"));
}

// A row of text for each size, a '*' where float8 is not faster.
std::string Grid(const Plane& plane, const std::vector<int64_t>& sizes,
                 const std::vector<double>& speedups, double wanted) {
  std::string text = absl::StrFormat(
      "%8s", absl::StrFormat("%c \\ %c", plane.names[0], plane.names[1]));
  for (const int64_t size : sizes) absl::StrAppendFormat(&text, "%9d", size);
  size_t at = 0;
  for (const int64_t size : sizes) {
    absl::StrAppendFormat(&text, "\n%8d", size);
    for (size_t i = 0; i < sizes.size(); ++i, ++at) {
      absl::StrAppendFormat(
          &text, "%9s",
          absl::StrFormat("%s%.3f", speedups[at] >= wanted ? "" : "*",
                          speedups[at]));
    }
  }
  return text + "\n";
}

absl::Status RefuseShapes(const CommandLine& line) {
  for (const char* flag :
       {"shapes", "tokens", "M", "K", "N", "n_limit", "shape_gen_name"}) {
    if (line.Has(flag)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " and --over are given at once"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> PlaneSpeedups(
    const roofline::LinearModel& model, const Plane& plane, int64_t fixed,
    const std::vector<int64_t>& sizes, Table* table) {
  std::vector<double> speedups;
  for (const int64_t down : sizes) {
    for (const int64_t across : sizes) {
      roofline::Sizes at;
      at.*plane.down = down;
      at.*plane.across = across;
      at.*plane.fixed = fixed;
      OCTET_ASSIGN_OR_RETURN(const double speedup, Speedup(model, at));
      speedups.push_back(speedup);
      table->AddRow({at.m, at.k, at.n, speedup});
    }
  }
  return speedups;
}

SpeedupMap PlaneMap(const Plane& plane, const std::vector<int64_t>& sizes,
                    const std::vector<double>& speedups, double wanted) {
  SpeedupMap map;
  map.x_name = std::string(1, plane.names[1]);
  map.y_name = std::string(1, plane.names[0]);
  for (const int64_t size : sizes) map.x.push_back(roofline::SizeLabel(size));
  map.y = map.x;
  map.speedups = speedups;
  map.break_even = wanted;
  return map;
}

absl::StatusOr<RooflineOutput> PlaneReport(const CommandLine& line,
                                           const LinearSetup& setup) {
  OCTET_ASSIGN_OR_RETURN(const Plane plane, PlaneOf(line.Get("over", "")));
  OCTET_RETURN_IF_ERROR(RefuseShapes(line));
  OCTET_ASSIGN_OR_RETURN(const Range range, RangeOf(line, 512, 32768));
  OCTET_ASSIGN_OR_RETURN(const int64_t fixed,
                         line.GetInt("at", kDefaultAt, 1, kMaxSize));
  OCTET_ASSIGN_OR_RETURN(const double wanted,
                         line.GetDouble("speedup", 1.0, 0.01, 100.0));
  OCTET_ASSIGN_OR_RETURN(const roofline::LinearModel model, ModelOf(setup));
  std::vector<int64_t> sizes;
  for (int64_t size = range.min; size <= range.max; size *= 2) {
    sizes.push_back(size);
  }
  Table table({{"M", CellStyle::kWhole},
               {"K", CellStyle::kWhole},
               {"N", CellStyle::kWhole},
               {"speedup", CellStyle::kRatio}});
  OCTET_ASSIGN_OR_RETURN(const std::vector<double> speedups,
                         PlaneSpeedups(model, plane, fixed, sizes, &table));
  const std::string title =
      absl::StrFormat("speed-up at %c = %d", plane.names[2], fixed);
  RooflineOutput output;
  if (line.Get("format", "text") == "text" && !line.Has("outfile") &&
      line.words.empty()) {
    output.out =
        absl::StrFormat("%s%s; '*' is below %g\n\n%s", setup.ToString(), title,
                        wanted, Grid(plane, sizes, speedups, wanted));
  } else {
    OCTET_ASSIGN_OR_RETURN(output, Deliver(line, setup.ToString(), table));
  }
  if (!WantsPage(line)) return output;
  const SpeedupMap map = PlaneMap(plane, sizes, speedups, wanted);
  OCTET_RETURN_IF_ERROR(
      AddPage(line, SpeedupPage(setup, title, map, table), &output));
  return output;
}

absl::StatusOr<RooflineOutput> RunBreakeven(const CommandLine& line) {
  OCTET_RETURN_IF_ERROR(CheckOutfileWord(line, "shapes"));
  OCTET_RETURN_IF_ERROR(CheckPagePath(line));
  OCTET_ASSIGN_OR_RETURN(
      const LinearSetup setup,
      SetupOf(line, roofline::CostModel::kOctet, "roofline"));
  if (setup.options.recipe == "bf16") {
    return absl::InvalidArgumentError(
        "--recipe=bf16: there is nothing to break even, as bf16 is what float8 "
        "is compared with");
  }
  if (line.Has("over")) return PlaneReport(line, setup);
  if (line.Has("at")) {
    return absl::InvalidArgumentError("--at is of --over, which is not given");
  }
  return LayersOf(line, setup);
}

}  // namespace

const RooflineCommand& BreakevenCommand() {
  static const auto& command = *new RooflineCommand{
      "breakeven",
      "from which M on each layer of a model is faster; speed-up over two "
      "sizes",
      JoinFlags({ShapeFlags(),
                 {{"speedup"}, {"over"}, {"at"}},
                 HardwareFlags(),
                 ModelFlags(),
                 OutputFlags(),
                 PageFlags()}),
      absl::StrCat(
          "  --speedup=1.0            what counts as faster\n"
          "  --over=M,N|M,K|K,N       the speed-up over these two, which "
          "double "
          "from --min_size\n"
          "                           to --max_size; the third is --at=4096\n",
          ShapeUsage(), HardwareUsage(), ModelUsage(), OutputUsage(),
          PageUsage(),
          "\nexamples:\n"
          "  roofline breakeven --shapes=llama3_8b --recipe=rowwise\n"
          "  roofline breakeven --over=M,N --at=4096 --hardware='H100 SXM'\n"
          "  roofline breakeven --over=M,N --html=plane.html\n"),
      &RunBreakeven};
  return command;
}

}  // namespace octet::tools
