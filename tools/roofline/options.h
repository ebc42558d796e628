// SPDX-License-Identifier: Apache-2.0

// Flags that say which GPU, which recipe and whose model of it.
#ifndef OCTET_TOOLS_ROOFLINE_OPTIONS_H_
#define OCTET_TOOLS_ROOFLINE_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "roofline/bound.h"
#include "roofline/cost.h"
#include "roofline/hardware.h"
#include "tools/command_line.h"
#include "tools/roofline/gemm_times.h"

namespace octet::tools {

// --hardware, --rates, --launch, and whose GEMM times (gemm_times.h).
const std::vector<FlagSpec>& HardwareFlags();
std::string HardwareUsage();

// --cost_model, --recipe and what each model has of options, by its own names
// or torchao's.
const std::vector<FlagSpec>& ModelFlags();
std::string ModelUsage();

// NAME, or FILE.toml. torchao's models have numbers of their own for a name;
// without the flag they are about its H100, ours about the H200.
absl::StatusOr<roofline::Hardware> HardwareOf(const CommandLine& line,
                                              roofline::CostModel model);

struct LinearSetup {
  roofline::LinearOptions options;
  roofline::Hardware hardware;
  roofline::BoundOptions bound;
  // Null where GEMM times come from the roofline.
  std::shared_ptr<GemmLookups> lookups;

  // What could not be checked of a card's own file; "": nothing.
  std::string caveat;

  // "H200, calibrated rates; model octet, recipe tensorwise; ..."
  std::string ToString() const;
};

// InvalidArgument names the flag and the value; errors of files their line.
absl::StatusOr<LinearSetup> SetupOf(const CommandLine& line,
                                    roofline::CostModel default_model,
                                    absl::string_view default_strategy);

// InvalidArgument if the card has not the products of one of our recipes. The
// card of a user's own file is not checked.
absl::Status CheckRecipe(const CommandLine& line, const std::string& recipe,
                         const roofline::Hardware& hardware);

absl::StatusOr<roofline::LinearModel> ModelOf(const LinearSetup& setup);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_OPTIONS_H_
