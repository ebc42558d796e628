// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "train/token_format.h"

namespace octet::train::internal {

absl::StatusOr<TokenFile> OpenText(io::MappedFile file) {
  const int64_t size = file.size();
  return TokenFile(std::move(file), "text", DType::kU8, 0, size);
}

}  // namespace octet::train::internal
