// SPDX-License-Identifier: Apache-2.0

// The keys of a card's file, and what of Hardware each is.
#ifndef OCTET_ROOFLINE_HARDWARE_FIELDS_H_
#define OCTET_ROOFLINE_HARDWARE_FIELDS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "roofline/hardware.h"

namespace octet::roofline {

// A number of a card as its file has it: in the key's unit, and under the name
// of the table where it is in one ("gemm_tflops.bf16").
struct HardwareNumber {
  std::string key;
  double value = 0;
  std::string source;  // "" if none is given
};

// All that are known, in the order of the file.
std::vector<HardwareNumber> HardwareNumbers(const Hardware& hardware);

namespace internal {

// Division by a power of ten above 1 is exact to the last bit where the
// product with one below is not: 1.2 / 1e6 is 1.2e-6.
struct Unit {
  double times = 1;
  double divided_by = 1;

  double FromFile(double value) const { return value * times / divided_by; }
  double ToFile(double value) const { return value * divided_by / times; }
};

inline constexpr Unit kTera = {1e12, 1};
inline constexpr Unit kGiga = {1e9, 1};
inline constexpr Unit kMicro = {1, 1e6};
inline constexpr Unit kOne = {1, 1};

struct Field {
  const char* key;
  const char* name;  // of Hardware's field
  double Hardware::*value;
  Unit unit;
  bool is_required;
  double high;  // in the file's unit
};

inline constexpr Field kFields[] = {
    {"bf16_tflops", "bf16_flops", &Hardware::bf16_flops, kTera, true, 1e9},
    {"fp8_tflops", "fp8_flops", &Hardware::fp8_flops, kTera, false, 1e9},
    {"fp4_tflops", "fp4_flops", &Hardware::fp4_flops, kTera, false, 1e9},
    {"memory_gigabytes_per_second", "memory_rate", &Hardware::memory_rate,
     kGiga, true, 1e9},
    {"memory_gigabytes", "memory_bytes", &Hardware::memory_bytes, kGiga, false,
     1e9},
    {"nvlink_gigabytes_per_second", "nvlink_rate", &Hardware::nvlink_rate,
     kGiga, false, 1e9},
    {"network_gigabytes_per_second", "network_rate", &Hardware::network_rate,
     kGiga, false, 1e9},
    {"launch_microseconds", "launch_seconds", &Hardware::launch_seconds, kMicro,
     false, 1e6},
    {"graph_launch_microseconds", "graph_launch_seconds",
     &Hardware::graph_launch_seconds, kMicro, false, 1e6},
    {"bf16_share", "bf16_share", &Hardware::bf16_share, kOne, false, 1},
    {"fp8_share", "fp8_share", &Hardware::fp8_share, kOne, false, 1},
    {"memory_share", "memory_share", &Hardware::memory_share, kOne, false, 1},
    {"link_share", "link_share", &Hardware::link_share, kOne, false, 1},
    {"copy_gigabytes_per_second", "copy_rate", &Hardware::copy_rate, kGiga,
     false, 1e9},
};

struct Table {
  const char* key;
  const char* name;
  std::map<std::string, double> Hardware::*values;
  Unit unit;
  double high;
};

inline constexpr Table kTables[] = {
    {"gemm_tflops", "gemm_flops", &Hardware::gemm_flops, kTera, 1e9},
    {"gemm_fixed_microseconds", "gemm_fixed_seconds",
     &Hardware::gemm_fixed_seconds, kMicro, 1e6},
};

inline constexpr char kGpusPerNode[] = "gpus_per_node";

// Of a key in the file; "" for none.
std::string FieldName(absl::string_view key);
std::string FieldKey(absl::string_view name);

}  // namespace internal
}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_HARDWARE_FIELDS_H_
