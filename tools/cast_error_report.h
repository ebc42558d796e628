// SPDX-License-Identifier: Apache-2.0

// A table of what recipes' forward casts lose of the tensors in a file.
#ifndef OCTET_TOOLS_CAST_ERROR_REPORT_H_
#define OCTET_TOOLS_CAST_ERROR_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace octet::tools {

// Names of the recipes whose forward operands are float8.
std::vector<std::string> Float8Recipes();

// One line for each tensor of a safetensors file or of a model's folder, recipe
// and distinct plan of forward's two operands. `tensor` empty: all matrices of
// f32, bf16 or f16 but for the scales of float8 tensors; else that one, which
// is a FailedPrecondition error if it is of another dtype. Errors of the file
// are those of io::SafetensorsFile, of a folder those of io::SafetensorsSet.
absl::StatusOr<std::string> CastErrorReport(
    const std::string& path, absl::string_view tensor,
    absl::Span<const std::string> recipes);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_CAST_ERROR_REPORT_H_
