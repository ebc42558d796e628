// SPDX-License-Identifier: Apache-2.0
#include "testing/goldens.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace octet::testing {

std::string GoldenPath(absl::string_view name) {
  const char* runfiles = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  if (runfiles != nullptr && workspace != nullptr) {
    return absl::StrCat(runfiles, "/", workspace, "/testing/goldens/", name);
  }
  return absl::StrCat("testing/goldens/", name);
}

absl::StatusOr<io::SafetensorsFile> LoadGolden(absl::string_view name) {
  return io::SafetensorsFile::Open(GoldenPath(name));
}

}  // namespace octet::testing
