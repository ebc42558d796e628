// SPDX-License-Identifier: Apache-2.0

// What a GPU can do: dense peaks, memory, links, and what share of them
// programs reach. Every number has its source.
//
// Sizes in bytes, rates in FLOP/s and bytes/s. "Dense": never the doubled
// number of structured sparsity.
#ifndef OCTET_ROOFLINE_HARDWARE_H_
#define OCTET_ROOFLINE_HARDWARE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace octet::roofline {

struct Hardware {
  std::string name;
  // Other names of it; case, spaces and '-' do not matter.
  std::vector<std::string> aliases;

  double bf16_flops = 0;
  double fp8_flops = 0;  // 0: no float8
  double fp4_flops = 0;  // 0: no 4-bit floats
  double memory_rate = 0;
  double memory_bytes = 0;  // 0: not known

  // Of one GPU, one direction. `nvlink_rate` is what joins the GPUs of a node,
  // be it NVLink, Infinity Fabric or PCIe; `network_rate` is between nodes.
  double nvlink_rate = 0;
  double network_rate = 0;
  int gpus_per_node = 1;

  // From one kernel to the next: launched one by one, and in a CUDA graph.
  double launch_seconds = 0;
  double graph_launch_seconds = 0;

  // Reached by good kernels, of the peaks above.
  double bf16_share = 1;
  double fp8_share = 1;
  double memory_share = 1;
  double link_share = 1;

  // Calibrated by measurement; 0 or absent: not measured. Modes of GEMMs:
  // bf16, tensor_fast, tensor, row_fast, row, block128, block1x128
  // (float8/recipe.h: scales per tensor, row or block; fast accumulation or
  // precise. block128: 1x128 by 128x128; block1x128: 1x128 on both sides).
  double copy_rate = 0;  // bytes/s, read + written
  std::map<std::string, double> gemm_flops;
  // Of every GEMM of a mode, whatever its size: pipelines fill and drain.
  std::map<std::string, double> gemm_fixed_seconds;

  // Where a field's value is from, by its name ("bf16_flops").
  std::map<std::string, std::string> sources;
};

// All that is built in.
const std::vector<Hardware>& KnownHardware();

// "H100 SXM, H100 PCIe, ...".
std::string KnownHardwareNames();

// By name or alias: "h200", "NVIDIA H200", and as a driver reports it: "NVIDIA
// H100 80GB HBM3". InvalidArgument that lists the known ones.
absl::StatusOr<Hardware> FindHardware(absl::string_view name);

// InvalidArgument naming the first field that no GPU can have.
absl::Status CheckHardware(const Hardware& hardware);

// The mode whose measured rate and fixed time are those of `mode`: itself, but
// "block128" for a block1x128 that was not measured.
std::string CalibratedMode(const Hardware& hardware, absl::string_view mode);

// FLOP/byte at which a kernel turns from memory bound to compute bound.
double Bf16Ridge(const Hardware& hardware);
double Fp8Ridge(const Hardware& hardware);

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_HARDWARE_H_
