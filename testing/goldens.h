// SPDX-License-Identifier: Apache-2.0

// Files of testing/goldens: what PyTorch, torchao and transformers computed.
// testing/goldens/README.md says what each holds. Depending on this target
// brings the files along.
#ifndef OCTET_TESTING_GOLDENS_H_
#define OCTET_TESTING_GOLDENS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/safetensors.h"

namespace octet::testing {

// Of a file or folder, for example "linear/linear_48x64x32.safetensors" or
// "llama_gqa"; under `bazel test`, `bazel run` and from the repository's root.
std::string GoldenPath(absl::string_view name);

absl::StatusOr<io::SafetensorsFile> LoadGolden(absl::string_view name);

}  // namespace octet::testing

#endif  // OCTET_TESTING_GOLDENS_H_
