// SPDX-License-Identifier: Apache-2.0

// The page of roofline breakeven.
#ifndef OCTET_TOOLS_ROOFLINE_BREAKEVEN_PAGE_H_
#define OCTET_TOOLS_ROOFLINE_BREAKEVEN_PAGE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "roofline/report/page.h"
#include "tools/roofline/options.h"
#include "tools/roofline/table.h"

namespace octet::tools {

struct SpeedupMap {
  std::string x_name, y_name;
  std::vector<std::string> x, y;
  std::vector<double> speedups;  // [y][x]
  double break_even = 1.0;
};

// The map with its line, and the table.
roofline::Report SpeedupPage(const LinearSetup& setup, absl::string_view title,
                             const SpeedupMap& map, const Table& table);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_BREAKEVEN_PAGE_H_
