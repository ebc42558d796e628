// SPDX-License-Identifier: Apache-2.0

#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "train/token_format.h"

namespace octet::train::internal {
namespace {

constexpr int32_t kGpt2Magic = 20240520;
constexpr int32_t kLlama3Magic = 20240801;
constexpr int64_t kHeaderBytes = 256 * 4;

int32_t HeaderWord(const io::MappedFile& file, int index) {
  int32_t word;
  std::memcpy(&word, file.data() + index * sizeof(word), sizeof(word));
  return word;
}

}  // namespace

bool IsLlmc(const io::MappedFile& file) {
  if (file.size() < 4) return false;
  const int32_t magic = HeaderWord(file, 0);
  return magic == kGpt2Magic || magic == kLlama3Magic;
}

absl::StatusOr<TokenFile> OpenLlmc(io::MappedFile file) {
  const std::string path = file.path();
  if (file.size() < kHeaderBytes) {
    return absl::DataLossError(absl::StrCat(path, " has ", file.size(),
                                            " bytes, less than llm.c's ",
                                            kHeaderBytes, "-byte header"));
  }
  if (!IsLlmc(file)) {
    return absl::DataLossError(
        absl::StrCat(path, ": magic number is ", HeaderWord(file, 0),
                     ", llm.c's are ", kGpt2Magic, " and ", kLlama3Magic));
  }
  const bool is_gpt2 = HeaderWord(file, 0) == kGpt2Magic;
  const int32_t version = HeaderWord(file, 1);
  if (version != (is_gpt2 ? 1 : 7)) {
    return absl::DataLossError(absl::StrCat(path, ": version is ", version,
                                            ", known for this magic ",
                                            "number is ", is_gpt2 ? 1 : 7));
  }
  const int64_t count = HeaderWord(file, 2);
  const DType type = is_gpt2 ? DType::kU16 : DType::kU32;
  const int64_t expected = kHeaderBytes + count * SizeOf(type);
  if (count < 0 || file.size() != expected) {
    return absl::DataLossError(
        absl::StrCat(path, " has ", file.size(), " bytes, its header's ", count,
                     " tokens of ", Name(type), " need ", expected));
  }
  if (count == 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, " holds no tokens"));
  }
  return TokenFile(std::move(file), "llmc", type, kHeaderBytes, count);
}

}  // namespace octet::train::internal
