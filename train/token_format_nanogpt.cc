// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "train/token_format.h"

namespace octet::train::internal {

absl::StatusOr<TokenFile> OpenNanogpt(io::MappedFile file) {
  const int64_t size = file.size();
  if (size % 2 != 0) {
    return absl::DataLossError(
        absl::StrCat(file.path(), " has ", size,
                     " bytes, no whole number of uint16 tokens"));
  }
  return TokenFile(std::move(file), "nanogpt", DType::kU16, 0, size / 2);
}

}  // namespace octet::train::internal
