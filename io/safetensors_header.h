// SPDX-License-Identifier: Apache-2.0

// The header of a safetensors file, as data: for io/safetensors.cc alone.
#ifndef OCTET_IO_SAFETENSORS_HEADER_H_
#define OCTET_IO_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/dtype.h"
#include "base/shape.h"

namespace octet::io::internal {

constexpr int64_t kMaxSafetensorsHeader = 100'000'000;

struct HeaderEntry {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  // In bytes from the end of the header.
  int64_t begin = 0;
  int64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> tensors;  // by begin, then end
  std::map<std::string, std::string> metadata;
};

// `text` without the length before it. DataLoss, starting with `path`, unless
// the tensors cover exactly [0, data_bytes) without holes and overlaps.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(
    absl::string_view text, int64_t data_bytes, absl::string_view path);

// The length and the header, padded with spaces to a multiple of 8.
std::string FormatSafetensorsHeader(const SafetensorsHeader& header);

}  // namespace octet::io::internal

#endif  // OCTET_IO_SAFETENSORS_HEADER_H_
