// SPDX-License-Identifier: Apache-2.0

#include "train/token_file.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace octet::train {
namespace {

// Copies and returns the first position outside [0, vocab_size), or -1.
template <typename T>
int64_t CopyTokens(const T* from, int64_t vocab_size, absl::Span<int32_t> out) {
  bool all_inside = true;
  const int64_t n = out.size();
  for (int64_t i = 0; i < n; ++i) {
    const int64_t token = from[i];
    all_inside &= token >= 0 && token < vocab_size;
    out[i] = static_cast<int32_t>(token);
  }
  for (int64_t i = 0; !all_inside && i < n; ++i) {
    const int64_t token = from[i];
    if (token < 0 || token >= vocab_size) return i;
  }
  return -1;
}

}  // namespace

TokenFile::TokenFile(io::MappedFile file, std::string format, DType type,
                     int64_t offset, int64_t count)
    : file_(std::move(file)),
      format_(std::move(format)),
      type_(type),
      offset_(offset),
      count_(count) {}

absl::Status TokenFile::Read(int64_t begin, int64_t vocab_size,
                             absl::Span<int32_t> out) const {
  if (begin < 0 || begin + static_cast<int64_t>(out.size()) > count_) {
    return absl::OutOfRangeError(absl::StrCat(path(), " holds ", count_,
                                              " tokens; asked for [", begin,
                                              ", ", begin + out.size(), ")"));
  }
  const uint8_t* from = file_.data() + offset_ + begin * SizeOf(type_);
  int64_t bad = -1;
  const auto copy = [&](auto tag) {
    using T = decltype(tag);
    const T* typed = reinterpret_cast<const T*>(from);
    bad = CopyTokens(typed, vocab_size, out);
    return bad < 0 ? int64_t{0} : static_cast<int64_t>(typed[bad]);
  };
  int64_t value = 0;
  switch (type_) {
    case DType::kU8:
      value = copy(uint8_t{});
      break;
    case DType::kI8:
      value = copy(int8_t{});
      break;
    case DType::kU16:
      value = copy(uint16_t{});
      break;
    case DType::kI16:
      value = copy(int16_t{});
      break;
    case DType::kU32:
      value = copy(uint32_t{});
      break;
    case DType::kI32:
      value = copy(int32_t{});
      break;
    case DType::kI64:
      value = copy(int64_t{});
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(path(), ": ", Name(type_), " is no type of tokens"));
  }
  if (bad < 0) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      path(), ": token at position ", begin + bad, " is ", value,
      ", outside the vocabulary of ", vocab_size, " (read as ", format_, ")"));
}

}  // namespace octet::train
