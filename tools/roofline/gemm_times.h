// SPDX-License-Identifier: Apache-2.0

// Whose GEMM times a prediction takes: the roofline's, or those of a file that
// was measured.
#ifndef OCTET_TOOLS_ROOFLINE_GEMM_TIMES_H_
#define OCTET_TOOLS_ROOFLINE_GEMM_TIMES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "roofline/bound.h"
#include "roofline/gemm_time.h"
#include "roofline/hardware.h"
#include "tools/command_line.h"

namespace octet::tools {

// --gemm_time_strategy, --gemm_benchmarks_file, --gemm_interpolate,
// --gemm_candidate, --gemm_device, --gemm_scale_mode.
const std::vector<FlagSpec>& GemmTimeFlags();
std::string GemmTimeUsage();

// How often a measured table was asked, by calls of a BoundOptions.
struct GemmLookups {
  int64_t measured = 0;
  int64_t interpolated = 0;

  std::shared_ptr<const roofline::GemmTable> table;
  // While it is collecting, what is not there is noted and takes a second.
  bool is_collecting = false;
  std::set<std::array<int64_t, 3>> missing_sizes;  // m, k, n
  std::set<std::string> missing_modes;
};

// Null where GEMM times come from the roofline. Times of another device than
// the card are InvalidArgument, unless --gemm_device names that device.
absl::StatusOr<std::shared_ptr<GemmLookups>> SetGemmTimes(
    const CommandLine& line, absl::string_view default_strategy,
    const roofline::Hardware& hardware, roofline::BoundOptions* bound);

// `error` as it is, or with one command that measures all that is missing:
// `ask_all` asks for whatever the request needs.
absl::Status WithAllMissing(const absl::Status& error, GemmLookups* lookups,
                            const std::function<void()>& ask_all);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_GEMM_TIMES_H_
