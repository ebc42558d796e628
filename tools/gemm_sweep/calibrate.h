// SPDX-License-Identifier: Apache-2.0

// Measures a device for the roofline: what `--hardware=FILE.toml` reads.
#ifndef OCTET_TOOLS_GEMM_SWEEP_CALIBRATE_H_
#define OCTET_TOOLS_GEMM_SWEEP_CALIBRATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/stream.h"
#include "roofline/hardware.h"

namespace octet::tools {

struct CalibrateOptions {
  double seconds = 0.2;  // for each measurement, after its warm-up
};

// Rates of copies and of products in each mode that the device has, and the
// times of launches. Peaks, memory and links are the datasheet's where
// `description` ("NVIDIA H200, 139.8 GiB, sm_90") begins with a known name;
// else the measured rates stand for the peaks, and `sources` says so.
absl::StatusOr<roofline::Hardware> Calibrate(const Stream& stream,
                                             const std::string& description,
                                             const CalibrateOptions& options);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_GEMM_SWEEP_CALIBRATE_H_
