// SPDX-License-Identifier: Apache-2.0

// The page of roofline linear.
#ifndef OCTET_TOOLS_ROOFLINE_LINEAR_PAGE_H_
#define OCTET_TOOLS_ROOFLINE_LINEAR_PAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "roofline/kernel_cost.h"
#include "roofline/polynomial.h"
#include "roofline/report/page.h"
#include "roofline/report/pictures.h"
#include "tools/roofline/input/shapes.h"
#include "tools/roofline/options.h"
#include "tools/roofline/table.h"

namespace octet::tools {

// Heat maps of the speed-up (M by N, for at most three K; M by layer where the
// shapes are no grid), time by part and a roofline of at most eight of the
// shapes, and the table. Shapes without a result are not in the pictures.
absl::StatusOr<roofline::Report> LinearPage(
    const LinearSetup& setup, const std::vector<LayerShape>& shapes,
    const Table& table);

// One layer's point: all FLOPs over all bytes, and over its seconds.
roofline::RooflinePoint LinearPoint(
    const std::vector<roofline::KernelCost>& kernels,
    const roofline::Sizes& sizes, double seconds);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_LINEAR_PAGE_H_
