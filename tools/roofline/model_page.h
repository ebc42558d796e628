// SPDX-License-Identifier: Apache-2.0

// The page of roofline model.
#ifndef OCTET_TOOLS_ROOFLINE_MODEL_PAGE_H_
#define OCTET_TOOLS_ROOFLINE_MODEL_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "roofline/model/model.h"
#include "roofline/report/page.h"
#include "tools/roofline/model_options.h"
#include "tools/roofline/table.h"

namespace octet::tools {

// One row of the command.
struct ModelRow {
  std::string recipe;
  int64_t ranks = 1;
  std::string fits;  // yes, no; unknown, as the GPU's memory
  roofline::ModelEstimate estimate;
  double speedup = 1.0;  // against bf16 on as many GPUs
};

// "1 GPU", "8 GPUs".
std::string GpusText(int64_t count);

// Which rows have an MFU above 100 %, and how that can be; empty if none has.
std::string MfuWarning(const JobSetup& setup,
                       const std::vector<ModelRow>& rows);

// Facts of the last row, time by part of each row, the step's speed-up over
// sequence and GPUs, each layer's over tokens, a roofline, and the table. The
// rows are not empty.
absl::StatusOr<roofline::Report> ModelPage(const JobSetup& setup,
                                           const std::vector<ModelRow>& rows,
                                           const Table& table);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_MODEL_PAGE_H_
