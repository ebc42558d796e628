// SPDX-License-Identifier: Apache-2.0

// Reads files: whole, or mapped into memory.
//
// Errors name the path: NotFound, PermissionDenied, FailedPrecondition for a
// folder or a device, which may have no end, else what errno says.
#ifndef OCTET_IO_FILE_H_
#define OCTET_IO_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace octet::io {

// Text is not larger.
constexpr int64_t kMostBytesRead = int64_t{1} << 30;

// A file or a pipe. ResourceExhausted if it has more than `most` bytes.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t most = kMostBytesRead);

// "folder/name", with one slash between.
std::string JoinPath(absl::string_view folder, absl::string_view name);

// A read-only mapping of a file; move-only, and the address stays on a move.
// Reading past the end of a file that somebody cuts meanwhile kills the process
// (SIGBUS), as with every mapping.
class MappedFile {
 public:
  static absl::StatusOr<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& path() const { return path_; }
  // Page aligned; null for an empty file.
  const uint8_t* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  MappedFile() = default;

  std::string path_;
  uint8_t* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace octet::io

#endif  // OCTET_IO_FILE_H_
