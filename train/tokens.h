// SPDX-License-Identifier: Apache-2.0

// Training data: fixed-length samples from files of tokens.
//
// The files are read as one stream, in the order of their names, and cut into
// windows of seq_len + 1 tokens, each sharing its last token with the next
// one's first: inputs are the first seq_len tokens, targets the last. So one
// pass reads every target once. Samples are numbered without end; sample i is
// window i % n of pass i / n, each pass in an order of its own. That number is
// the whole state: the same on every rank and after every restart.
//
// Validation windows come from files of their own or from the end of the
// stream, and share no token with any training window.
#ifndef OCTET_TRAIN_TOKENS_H_
#define OCTET_TRAIN_TOKENS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "train/token_file.h"

namespace octet::train {

struct TokenDataOptions {
  std::string path;             // a file, a folder or a pattern: file_list.h
  std::string format = "auto";  // token_format.h
  // Files for validation; empty: those of `path` that are named so, else the
  // last validation_fraction of its windows, at least one (none if it is 0).
  std::string validation_path;
  double validation_fraction = 0.1;
  int64_t seq_len = 0;
  int64_t vocab_size = 0;
  uint64_t seed = 0;
  bool shuffle = true;
};

class TokenData {
 public:
  // Errors name the path, and the file if it is one of several: NotFound,
  // InvalidArgument (empty, or too short for one window), DataLoss (truncated),
  // OutOfRange (a token outside the vocabulary; all tokens are checked here if
  // they are fewer than 2^26, else each window as it is read).
  static absl::StatusOr<TokenData> Open(const TokenDataOptions& options);

  // Windows of one pass.
  int64_t size() const { return size_; }
  int64_t Epoch(int64_t index) const { return index / size_; }
  // Sample `index` >= 0 into out [seq_len + 1].
  absl::Status Sample(int64_t index, absl::Span<int32_t> out) const;

  int64_t validation_size() const { return validation_size_; }
  // Window 0 <= index < validation_size(), in file order.
  absl::Status ValidationSample(int64_t index, absl::Span<int32_t> out) const;

  // Of the training files: "text", "llmc", "nanogpt" or "megatron".
  const std::string& format() const { return training_.files[0].format(); }

  // "/usr/share/common-licenses: 13 files (text), 237320 tokens, 834 + 93
  // windows of 256"
  std::string ToString() const;

 private:
  // Files one after another.
  struct FileStream {
    std::vector<TokenFile> files;
    std::vector<int64_t> starts;  // position of each file's first token
    int64_t size = 0;
  };

  TokenData() = default;
  static absl::StatusOr<FileStream> OpenStream(
      const std::vector<std::string>& paths, const TokenDataOptions& options);
  absl::Status Split(bool has_validation_files);
  absl::Status Read(const FileStream& stream, int64_t begin,
                    absl::Span<int32_t> out) const;
  absl::Status CheckAll(const FileStream& stream) const;

  TokenDataOptions options_;
  FileStream training_;
  FileStream validation_;  // empty when validation is the end of training_
  int64_t size_ = 0;
  int64_t validation_size_ = 0;
  int64_t validation_begin_ = 0;
};

}  // namespace octet::train

#endif  // OCTET_TRAIN_TOKENS_H_
