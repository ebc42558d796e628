// SPDX-License-Identifier: Apache-2.0

// A 64-bit checksum against damage, not against malice: XXH64 with seed 0, as
// `xxhsum -H1` prints it.
//
//   https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
#ifndef OCTET_IO_CHECKSUM_H_
#define OCTET_IO_CHECKSUM_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace octet::io {

class Checksum {
 public:
  Checksum();

  // Any split of the bytes over calls gives the same value.
  void Update(const void* data, int64_t bytes);

  // Of the bytes so far.
  uint64_t value() const;

 private:
  std::array<uint64_t, 4> lanes_;
  std::array<uint8_t, 32> pending_ = {};  // less than one stripe
  uint64_t total_ = 0;
};

// Of a whole file.
absl::StatusOr<uint64_t> ChecksumFile(const std::string& path);

}  // namespace octet::io

#endif  // OCTET_IO_CHECKSUM_H_
