// SPDX-License-Identifier: Apache-2.0

#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "train/token_format.h"

namespace octet::train::internal {
namespace {

constexpr char kMagic[] = "MMIDIDX\0";  // nine bytes with the terminator
constexpr int64_t kMagicBytes = 9;
constexpr int64_t kHeaderBytes = kMagicBytes + 8 + 1 + 8 + 8;

// The index's arrays follow a 34-byte header, so none is aligned.
template <typename T>
T Load(const io::MappedFile& file, int64_t offset) {
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(value));
  return value;
}

absl::StatusOr<DType> TypeOfCode(const std::string& path, int code) {
  switch (code) {
    case 1:
      return DType::kU8;
    case 2:
      return DType::kI8;
    case 3:
      return DType::kI16;
    case 4:
      return DType::kI32;
    case 5:
      return DType::kI64;
    case 8:
      return DType::kU16;
    default:
      return absl::DataLossError(absl::StrCat(path, ": dtype code is ", code,
                                              ", which is no integer type"));
  }
}

// The documents must lie in the .bin one after another from its first byte, as
// Megatron's tools write them: then the .bin is one stream of tokens.
absl::StatusOr<int64_t> CountTokens(const io::MappedFile& index,
                                    int64_t sequences, int64_t item_bytes) {
  const int64_t offsets = kHeaderBytes + 4 * sequences;
  int64_t tokens = 0;
  for (int64_t i = 0; i < sequences; ++i) {
    const int64_t length = Load<int32_t>(index, kHeaderBytes + 4 * i);
    const int64_t offset = Load<int64_t>(index, offsets + 8 * i);
    if (length < 0 || offset != tokens * item_bytes) {
      return absl::DataLossError(absl::StrCat(
          index.path(), ": sequence ", i, " has length ", length,
          " at byte offset ", offset, ", expected at ", tokens * item_bytes));
    }
    tokens += length;
  }
  return tokens;
}

}  // namespace

bool IsMegatronIndex(const io::MappedFile& file) {
  return file.size() >= kMagicBytes &&
         std::memcmp(file.data(), kMagic, kMagicBytes) == 0;
}

absl::StatusOr<TokenFile> OpenMegatron(io::MappedFile index) {
  const std::string& path = index.path();
  if (!IsMegatronIndex(index)) {
    return absl::DataLossError(
        absl::StrCat(path, " does not start with Megatron's MMIDIDX"));
  }
  if (index.size() < kHeaderBytes) {
    return absl::DataLossError(absl::StrCat(path, " has ", index.size(),
                                            " bytes, its header needs ",
                                            kHeaderBytes));
  }
  const uint64_t version = Load<uint64_t>(index, kMagicBytes);
  if (version != 1) {
    return absl::DataLossError(
        absl::StrCat(path, ": version is ", version, ", known is 1"));
  }
  OCTET_ASSIGN_OR_RETURN(
      const DType type,
      TypeOfCode(path, Load<uint8_t>(index, kMagicBytes + 8)));
  const uint64_t sequences = Load<uint64_t>(index, kMagicBytes + 9);
  const uint64_t documents = Load<uint64_t>(index, kMagicBytes + 17);
  const uint64_t room = index.size() - kHeaderBytes;
  // Bounded one by one first, so that no product below can overflow.
  if (sequences > room || documents > room ||
      sequences * 12 + documents * 8 > room) {
    return absl::DataLossError(absl::StrCat(
        path, " has ", index.size(), " bytes, too few for its ", sequences,
        " sequences and ", documents, " document bounds"));
  }
  OCTET_ASSIGN_OR_RETURN(const int64_t tokens,
                         CountTokens(index, sequences, SizeOf(type)));
  const std::string stem(
      absl::EndsWith(path, ".idx") ? path.substr(0, path.size() - 4) : path);
  OCTET_ASSIGN_OR_RETURN(io::MappedFile bin,
                         io::MappedFile::Open(absl::StrCat(stem, ".bin")));
  if (bin.size() != tokens * SizeOf(type)) {
    return absl::DataLossError(
        absl::StrCat(bin.path(), " has ", bin.size(), " bytes, its index ",
                     path, " lists ", tokens, " tokens of ", Name(type), ", ",
                     tokens * SizeOf(type), " bytes"));
  }
  if (tokens == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(bin.path(), " holds no tokens"));
  }
  return TokenFile(std::move(bin), "megatron", type, 0, tokens);
}

}  // namespace octet::train::internal
