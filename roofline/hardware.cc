// SPDX-License-Identifier: Apache-2.0

#include "roofline/hardware.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "roofline/hardware_data.h"

namespace octet::roofline {
namespace {

// "NVIDIA H100-80GB" and "h100 80gb" are one.
std::string Normal(absl::string_view name) {
  std::string text;
  for (const char c : name) {
    if (absl::ascii_isalnum(c)) text += absl::ascii_tolower(c);
  }
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "nvidia")) absl::ConsumePrefix(&rest, "amd");
  return std::string(rest);
}

absl::Status CheckRange(absl::string_view card, absl::string_view field,
                        double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("hardware ", card, ": ", field, " is ", value,
                   ", must be in [", low, ", ", high, "]"));
}

absl::Status CheckCalibration(const Hardware& h) {
  // 0 is "not measured".
  OCTET_RETURN_IF_ERROR(CheckRange(h.name, "copy_rate", h.copy_rate, 0, 1e18));
  for (const auto& [mode, rate] : h.gemm_flops) {
    OCTET_RETURN_IF_ERROR(CheckRange(
        h.name, absl::StrCat("gemm_flops of ", mode), rate, 1e6, 1e21));
  }
  for (const auto& [mode, seconds] : h.gemm_fixed_seconds) {
    OCTET_RETURN_IF_ERROR(CheckRange(
        h.name, absl::StrCat("gemm_fixed_seconds of ", mode), seconds, 0, 1));
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<Hardware>& KnownHardware() {
  static const auto* const all =
      new std::vector<Hardware>(internal::HardwareData());
  return *all;
}

std::string KnownHardwareNames() {
  std::string names;
  for (const Hardware& hardware : KnownHardware()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", hardware.name);
  }
  return names;
}

absl::StatusOr<Hardware> FindHardware(absl::string_view name) {
  const std::string wanted = Normal(name);
  for (const Hardware& hardware : KnownHardware()) {
    if (Normal(hardware.name) == wanted) return hardware;
    for (const std::string& alias : hardware.aliases) {
      if (Normal(alias) == wanted) return hardware;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "hardware: \"", name, "\" is unknown; known are ", KnownHardwareNames()));
}

absl::Status CheckHardware(const Hardware& h) {
  if (h.name.empty()) {
    return absl::InvalidArgumentError("hardware: name is empty");
  }
  struct Field {
    const char* name;
    double value, low, high;
  };
  const Field fields[] = {
      {"bf16_flops", h.bf16_flops, 1e6, 1e21},
      {"fp8_flops", h.fp8_flops, 0, 1e21},
      {"fp4_flops", h.fp4_flops, 0, 1e21},
      {"memory_rate", h.memory_rate, 1e3, 1e18},
      {"memory_bytes", h.memory_bytes, 0, 1e18},
      {"nvlink_rate", h.nvlink_rate, 0, 1e18},
      {"network_rate", h.network_rate, 0, 1e18},
      {"gpus_per_node", static_cast<double>(h.gpus_per_node), 1, 1e6},
      {"launch_seconds", h.launch_seconds, 0, 1},
      {"graph_launch_seconds", h.graph_launch_seconds, 0, 1},
      {"bf16_share", h.bf16_share, 1e-6, 1},
      {"fp8_share", h.fp8_share, 1e-6, 1},
      {"memory_share", h.memory_share, 1e-6, 1},
      {"link_share", h.link_share, 1e-6, 1},
  };
  for (const Field& field : fields) {
    OCTET_RETURN_IF_ERROR(
        CheckRange(h.name, field.name, field.value, field.low, field.high));
  }
  return CheckCalibration(h);
}

std::string CalibratedMode(const Hardware& hardware, absl::string_view mode) {
  const bool is_measured = hardware.gemm_flops.count(std::string(mode)) > 0;
  return std::string(mode == "block1x128" && !is_measured ? "block128" : mode);
}

double Bf16Ridge(const Hardware& hardware) {
  return hardware.bf16_flops / hardware.memory_rate;
}

double Fp8Ridge(const Hardware& hardware) {
  return hardware.fp8_flops / hardware.memory_rate;
}

}  // namespace octet::roofline
