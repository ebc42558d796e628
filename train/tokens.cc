// SPDX-License-Identifier: Apache-2.0

#include "train/tokens.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "train/file_list.h"
#include "train/permutation.h"
#include "train/token_format.h"

namespace octet::train {
namespace {

constexpr int64_t kCheckAllBelow = int64_t{1} << 26;
// Apart from every other use of the seed.
constexpr uint64_t kOrderStream = uint64_t{0x0D0E} << 48;

absl::Status CheckOptions(const TokenDataOptions& options) {
  if (options.seq_len < 1 || options.vocab_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("data: seq_len is ", options.seq_len, ", vocab_size is ",
                     options.vocab_size, "; both must be positive"));
  }
  if (!(options.validation_fraction >= 0 && options.validation_fraction < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("data: validation_fraction is ",
                     options.validation_fraction, ", must be in [0, 1)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TokenData::FileStream> TokenData::OpenStream(
    const std::vector<std::string>& paths, const TokenDataOptions& options) {
  FileStream stream;
  for (const std::string& path : paths) {
    auto file = OpenTokenFile(path, options.format);
    if (!file.ok()) {
      // The message names the file.
      return absl::Status(
          file.status().code(),
          absl::StrCat(
              "data",
              path == options.path ? "" : absl::StrCat(" ", options.path), ": ",
              file.status().message()));
    }
    stream.starts.push_back(stream.size);
    stream.size += file->size();
    stream.files.push_back(*std::move(file));
  }
  return stream;
}

absl::StatusOr<TokenData> TokenData::Open(const TokenDataOptions& options) {
  OCTET_RETURN_IF_ERROR(CheckOptions(options));
  TokenData data;
  data.options_ = options;
  OCTET_ASSIGN_OR_RETURN(FileList list, ListFiles(options.path));
  if (!options.validation_path.empty()) {
    OCTET_ASSIGN_OR_RETURN(FileList held_out,
                           ListFiles(options.validation_path));
    list.validation = held_out.training;
    list.validation.insert(list.validation.end(), held_out.validation.begin(),
                           held_out.validation.end());
    for (const std::string& path : list.validation) {
      auto& training = list.training;
      training.erase(std::remove(training.begin(), training.end(), path),
                     training.end());
    }
    if (list.training.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "data: all files of ", options.path, " are validation files of ",
          options.validation_path, ", none is left for training"));
    }
  }
  OCTET_ASSIGN_OR_RETURN(data.training_, OpenStream(list.training, options));
  OCTET_ASSIGN_OR_RETURN(data.validation_,
                         OpenStream(list.validation, options));
  OCTET_RETURN_IF_ERROR(data.Split(!list.validation.empty()));
  OCTET_RETURN_IF_ERROR(data.CheckAll(data.training_));
  OCTET_RETURN_IF_ERROR(data.CheckAll(data.validation_));
  return data;
}

absl::Status TokenData::Split(bool has_validation_files) {
  const int64_t length = options_.seq_len;
  const int64_t tokens = training_.size;
  const bool split = !has_validation_files && options_.validation_fraction > 0;
  // A validation window shares not even a border token with training.
  const int64_t windows = split ? (tokens - 2) / length : (tokens - 1) / length;
  const int64_t held_out =
      split ? std::max<int64_t>(
                  1, std::llround(windows * options_.validation_fraction))
            : 0;
  size_ = std::max<int64_t>(0, windows - held_out);
  if (size_ < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data ", options_.path, ": ", tokens, " tokens in ",
        training_.files.size(), " file(s) are too few; a training window of ",
        length, split ? " and a validation window need " : " needs ",
        split ? 2 * length + 2 : length + 1));
  }
  if (has_validation_files) {
    validation_size_ = (validation_.size - 1) / length;
    if (validation_size_ < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "data: ", validation_.size, " tokens for validation in ",
          validation_.files[0].path(), " are too few; a window of ", length,
          " needs ", length + 1));
    }
  } else {
    validation_size_ = held_out;
    validation_begin_ = size_ * length + 1;
  }
  return absl::OkStatus();
}

absl::Status TokenData::CheckAll(const FileStream& stream) const {
  if (stream.size >= kCheckAllBelow) return absl::OkStatus();
  std::vector<int32_t> buffer;
  for (const TokenFile& file : stream.files) {
    buffer.resize(file.size());
    OCTET_RETURN_IF_ERROR(
        file.Read(0, options_.vocab_size, absl::MakeSpan(buffer)));
  }
  return absl::OkStatus();
}

absl::Status TokenData::Read(const FileStream& stream, int64_t begin,
                             absl::Span<int32_t> out) const {
  auto next =
      std::upper_bound(stream.starts.begin(), stream.starts.end(), begin);
  int64_t i = next - stream.starts.begin() - 1;
  while (!out.empty()) {
    const TokenFile& file = stream.files[i];
    const int64_t offset = begin - stream.starts[i];
    const int64_t count = std::min<int64_t>(out.size(), file.size() - offset);
    OCTET_RETURN_IF_ERROR(
        file.Read(offset, options_.vocab_size, out.subspan(0, count)));
    out.remove_prefix(count);
    begin += count;
    ++i;
  }
  return absl::OkStatus();
}

absl::Status TokenData::Sample(int64_t index, absl::Span<int32_t> out) const {
  if (index < 0 || static_cast<int64_t>(out.size()) != options_.seq_len + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("data: sample ", index, " into ", out.size(),
                     " tokens; a sample has ", options_.seq_len + 1));
  }
  int64_t window = index % size_;
  if (options_.shuffle) {
    window =
        Permutation(options_.seed, kOrderStream + Epoch(index), size_)(window);
  }
  return Read(training_, window * options_.seq_len, out);
}

absl::Status TokenData::ValidationSample(int64_t index,
                                         absl::Span<int32_t> out) const {
  if (index < 0 || index >= validation_size_ ||
      static_cast<int64_t>(out.size()) != options_.seq_len + 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data: validation sample ", index, " of ", validation_size_, " into ",
        out.size(), " tokens; a sample has ", options_.seq_len + 1));
  }
  const bool own_files = !validation_.files.empty();
  return Read(own_files ? validation_ : training_,
              (own_files ? 0 : validation_begin_) + index * options_.seq_len,
              out);
}

std::string TokenData::ToString() const {
  const int64_t files = training_.files.size() + validation_.files.size();
  return absl::StrCat(
      options_.path, ": ", files, files == 1 ? " file" : " files", " (",
      training_.files[0].format(), "), ", training_.size + validation_.size,
      " tokens; ", size_, " training and ", validation_size_,
      " validation windows of ", options_.seq_len);
}

}  // namespace octet::train
