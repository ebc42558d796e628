// SPDX-License-Identifier: Apache-2.0

// A table of the largest magnitudes in a file's tensors, tile by tile.
#ifndef OCTET_TOOLS_AMAX_REPORT_H_
#define OCTET_TOOLS_AMAX_REPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "float8/scaling.h"

namespace octet::tools {

// Computed on `device` ("auto", "cpu", "cuda", "cuda:N"), which the first line
// names. One line for each f32, bf16 or f16 tensor of the safetensors file, or
// for `tensor` alone unless that is empty. The largest is the tensor's amax:
// nan or inf where it has one. A last line says how many tensors of other
// dtypes were left out, if any. Errors are those of ResolveDevice and
// io::SafetensorsFile; FailedPrecondition for a tensor of another dtype.
absl::StatusOr<std::string> AmaxReport(const std::string& path,
                                       absl::string_view tensor,
                                       float8::Granularity granularity,
                                       absl::string_view device);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_AMAX_REPORT_H_
