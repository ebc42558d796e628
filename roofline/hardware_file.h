// SPDX-License-Identifier: Apache-2.0

// A GPU of one's own, as a small TOML file with units in its keys:
//
//   name = "My card"
//   bf16_tflops = 312.0
//   memory_gigabytes = 80
//   memory_gigabytes_per_second = 2039.0
//   [gemm_tflops]
//   bf16 = 250.0
//   [sources]
//   bf16_tflops = "datasheet"
//
// Required: name, bf16_tflops and memory_gigabytes_per_second. What is not
// given is Hardware's default.
#ifndef OCTET_ROOFLINE_HARDWARE_FILE_H_
#define OCTET_ROOFLINE_HARDWARE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "roofline/hardware.h"

namespace octet::roofline {

// Errors are InvalidArgument and begin with "FILE:LINE: key"; `file` is for
// them alone.
absl::StatusOr<Hardware> ParseHardware(absl::string_view text,
                                       absl::string_view file);

// The text that ParseHardware reads back as the same numbers.
std::string HardwareToml(const Hardware& hardware);

absl::StatusOr<Hardware> ReadHardware(const std::string& path);

// Every key of such a file, "bf16_tflops, fp8_tflops, ...".
std::string HardwareFileKeys();

// Whole or not at all.
absl::Status WriteHardware(const Hardware& hardware, const std::string& path);

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_HARDWARE_FILE_H_
