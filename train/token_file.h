// SPDX-License-Identifier: Apache-2.0

// One file of tokens, whatever its format: a typed array behind a mapped file.
#ifndef OCTET_TRAIN_TOKEN_FILE_H_
#define OCTET_TRAIN_TOKEN_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/dtype.h"
#include "io/file.h"

namespace octet::train {

class TokenFile {
 public:
  // `count` tokens of an integer type from byte `offset` on, little-endian; the
  // caller has checked that the file holds them.
  TokenFile(io::MappedFile file, std::string format, DType type, int64_t offset,
            int64_t count);

  const std::string& path() const { return file_.path(); }
  // "text", "llmc", "nanogpt", "megatron"
  const std::string& format() const { return format_; }
  // Tokens.
  int64_t size() const { return count_; }

  // Tokens [begin, begin + out.size()). A token outside [0, vocab_size) is an
  // OutOfRange error that names the file, the token's position and value.
  absl::Status Read(int64_t begin, int64_t vocab_size,
                    absl::Span<int32_t> out) const;

 private:
  io::MappedFile file_;
  std::string format_;
  DType type_;
  int64_t offset_;
  int64_t count_;
};

}  // namespace octet::train

#endif  // OCTET_TRAIN_TOKEN_FILE_H_
