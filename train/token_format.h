// SPDX-License-Identifier: Apache-2.0

// Opens token files of the formats that trainers exchange.
//
//   text      any file: its bytes are the tokens, vocabulary 256
//   llmc      llm.c's .bin: 256 int32 of header (magic 20240520 version 1:
//             uint16 tokens; 20240801 version 7: uint32), then the tokens
//   nanogpt   nanoGPT's .bin: uint16 tokens, no header
//   megatron  Megatron-LM's .idx beside a .bin
//   auto      by magic number, then by extension: .bin is nanogpt, others text
//
// All are little-endian. Opening checks the sizes: a file without tokens is
// InvalidArgument, one that is shorter or longer than it says is DataLoss.
// Messages name the path.
#ifndef OCTET_TRAIN_TOKEN_FORMAT_H_
#define OCTET_TRAIN_TOKEN_FORMAT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/file.h"
#include "train/token_file.h"

namespace octet::train {

// "auto" first.
std::vector<std::string> TokenFormats();

// InvalidArgument for an unknown format.
absl::StatusOr<TokenFile> OpenTokenFile(const std::string& path,
                                        absl::string_view format);

namespace internal {

// Each takes a file of at least one byte.
absl::StatusOr<TokenFile> OpenText(io::MappedFile file);
absl::StatusOr<TokenFile> OpenLlmc(io::MappedFile file);
absl::StatusOr<TokenFile> OpenNanogpt(io::MappedFile file);
// `index` is the .idx; opens the .bin beside it.
absl::StatusOr<TokenFile> OpenMegatron(io::MappedFile index);

bool IsLlmc(const io::MappedFile& file);
bool IsMegatronIndex(const io::MappedFile& file);

}  // namespace internal
}  // namespace octet::train

#endif  // OCTET_TRAIN_TOKEN_FORMAT_H_
