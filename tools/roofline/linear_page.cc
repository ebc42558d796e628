// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/linear_page.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "roofline/bound.h"
#include "roofline/cost.h"
#include "roofline/report/pictures.h"
#include "tools/roofline/page.h"

namespace octet::tools {
namespace {

using roofline::HeatMap;
using roofline::LinearBound;
using roofline::SizeLabel;
using roofline::Sizes;

struct Result {
  LayerShape shape;
  LinearBound bound;
};

std::string NameOf(const LayerShape& shape) {
  return absl::StrCat(shape.layer, shape.layer.empty() ? "" : " ",
                      SizeLabel(shape.sizes.m), "x", SizeLabel(shape.sizes.k),
                      "x", SizeLabel(shape.sizes.n));
}

// At most `most`, evenly, first and last included.
template <typename T>
std::vector<T> Spread(const std::vector<T>& all, size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> some;
  for (size_t i = 0; i < most; ++i) {
    some.push_back(all[i * (all.size() - 1) / (most - 1)]);
  }
  return some;
}

// The speed-up of a shape with these sizes, or NaN.
double SpeedupOf(const std::vector<Result>& results, const Sizes& s) {
  for (const Result& r : results) {
    const Sizes& t = r.shape.sizes;
    if (t.m == s.m && t.k == s.k && t.n == s.n) return r.bound.speedup;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// M by N at one K.
HeatMap GridMap(const std::vector<Result>& results, int64_t k) {
  HeatMap map;
  map.title = absl::StrCat("Speed-up, K = ", k);
  map.x_name = "N";
  map.y_name = "M";
  std::set<int64_t> ms, ns;
  for (const Result& r : results) {
    if (r.shape.sizes.k != k) continue;
    ms.insert(r.shape.sizes.m);
    ns.insert(r.shape.sizes.n);
  }
  for (const int64_t n : ns) map.x.push_back(SizeLabel(n));
  for (const int64_t m : ms) {
    map.y.push_back(SizeLabel(m));
    for (const int64_t n : ns) {
      map.values.push_back(SpeedupOf(results, {m, k, n}));
    }
  }
  return map;
}

// Layers, or K x N where they have no name, by M; the first at the top.
HeatMap ListMap(const std::vector<Result>& results) {
  HeatMap map;
  map.title = "Speed-up";
  map.x_name = "M";
  map.y_name = "layer";
  std::set<int64_t> ms;
  std::vector<LayerShape> rows;
  const auto label = [](const LayerShape& s) {
    return !s.layer.empty()
               ? s.layer
               : absl::StrCat(SizeLabel(s.sizes.k), "x", SizeLabel(s.sizes.n));
  };
  for (const Result& r : results) {
    ms.insert(r.shape.sizes.m);
    const auto same = [&](const LayerShape& row) {
      return label(row) == label(r.shape) && row.sizes.k == r.shape.sizes.k &&
             row.sizes.n == r.shape.sizes.n;
    };
    if (std::none_of(rows.begin(), rows.end(), same)) rows.push_back(r.shape);
  }
  std::reverse(rows.begin(), rows.end());
  for (const int64_t m : ms) map.x.push_back(SizeLabel(m));
  for (const LayerShape& row : rows) {
    map.y.push_back(label(row));
    for (const int64_t m : ms) {
      map.values.push_back(SpeedupOf(results, {m, row.sizes.k, row.sizes.n}));
    }
  }
  return map;
}

std::vector<roofline::ReportPicture> Maps(const std::vector<Result>& results) {
  std::set<int64_t> ms, ks, ns;
  for (const Result& r : results) {
    ms.insert(r.shape.sizes.m);
    ks.insert(r.shape.sizes.k);
    ns.insert(r.shape.sizes.n);
  }
  // Every M and N at every K.
  const bool is_grid = ms.size() > 1 && ns.size() > 1 &&
                       results.size() == ms.size() * ks.size() * ns.size();
  if (!is_grid) return {{"speedup", HeatMapSvg(ListMap(results))}};
  std::vector<roofline::ReportPicture> pictures;
  for (const int64_t k :
       Spread(std::vector<int64_t>(ks.begin(), ks.end()), 3)) {
    pictures.push_back(
        {absl::StrCat("speedup-k", k), HeatMapSvg(GridMap(results, k))});
  }
  return pictures;
}

roofline::ReportPicture Bars(const LinearSetup& setup,
                             const std::vector<Result>& results) {
  roofline::StackedBars bars;
  bars.title = "Time by part, forward and backward";
  bars.parts = {"gemm", "casts", "other", "exposed communication"};
  for (const Result& r : results) {
    const LinearBound& b = r.bound;
    const std::string name = NameOf(r.shape);
    const double full = std::max(b.bf16_seconds, b.seconds);
    bars.bars.push_back(
        {absl::StrCat(name, ", bf16"),
         {b.bf16_gemm_seconds, 0.0, b.bf16_seconds - b.bf16_gemm_seconds, 0.0},
         full});
    bars.bars.push_back({absl::StrCat(name, ", ", setup.options.recipe),
                         {b.gemm_seconds, b.overhead_seconds, b.other_seconds,
                          b.exposed_seconds},
                         full});
  }
  return {"parts", StackedBarsSvg(bars)};
}

roofline::ReportPicture Plot(const LinearSetup& setup,
                             const roofline::LinearModel& model,
                             const std::vector<Result>& results) {
  roofline::RooflinePlot plot =
      PlotOf(setup.hardware, absl::StrCat("Roofline, ", setup.hardware.name));
  for (const Result& r : results) {
    for (const bool is_float8 : {false, true}) {
      roofline::RooflinePoint point = LinearPoint(
          is_float8 ? model.kernels() : model.bf16_kernels(), r.shape.sizes,
          is_float8 ? r.bound.seconds : r.bound.bf16_seconds);
      point.series = is_float8 ? setup.options.recipe : "bf16";
      point.label = NameOf(r.shape);
      point.is_predicted = true;
      plot.points.push_back(std::move(point));
    }
  }
  return {"roofline", RooflinePlotSvg(plot)};
}

}  // namespace

roofline::RooflinePoint LinearPoint(
    const std::vector<roofline::KernelCost>& kernels, const Sizes& sizes,
    double seconds) {
  roofline::RooflinePoint point;
  const double flops = TotalFlops(kernels).Evaluate(sizes);
  point.flops_per_byte = flops / TotalBytes(kernels).Evaluate(sizes);
  point.flops_per_second = flops / seconds;
  return point;
}

absl::StatusOr<roofline::Report> LinearPage(
    const LinearSetup& setup, const std::vector<LayerShape>& shapes,
    const Table& table) {
  OCTET_ASSIGN_OR_RETURN(const roofline::LinearModel model, ModelOf(setup));
  std::vector<Result> results;
  size_t faster = 0;
  for (const LayerShape& shape : shapes) {
    const absl::StatusOr<LinearBound> bound = model.Bound(shape.sizes);
    if (!bound.ok()) continue;
    results.push_back({shape, *bound});
    if (bound->speedup > 1.0) ++faster;
  }
  roofline::Report report;
  report.title = absl::StrCat("Does ", setup.options.recipe, " pay on ",
                              setup.hardware.name, "?");
  report.facts = {
      {"GPU", setup.hardware.name},
      {"Recipe", setup.options.recipe},
      {"Cost model", std::string(CostModelName(setup.options.model))},
      {"Faster in float8",
       absl::StrCat(faster, " of ", shapes.size(), " shapes")}};
  const std::vector<Result> some = Spread(results, 8);
  roofline::ReportSection speed;
  speed.heading = "Speed-up of a linear layer over bf16";
  speed.paragraphs = {
      "Forward and backward with casts. Above 1 float8 is faster. Predicted, "
      "not measured."};
  speed.pictures = Maps(results);
  roofline::ReportSection parts;
  parts.heading = "Where the time goes";
  if (some.size() < results.size()) {
    parts.paragraphs = {absl::StrCat("Of ", some.size(), " of the shapes.")};
  }
  parts.pictures = {Bars(setup, Spread(results, 4)), Plot(setup, model, some)};
  roofline::ReportSection all;
  all.heading = "All shapes";
  all.table = PageTable(table);
  report.sections = {std::move(speed), std::move(parts), std::move(all)};
  return report;
}

}  // namespace octet::tools
