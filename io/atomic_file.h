// SPDX-License-Identifier: Apache-2.0

// Writes files that are either whole or not there.
//
// Bytes go to PATH.tmp in the same folder; Commit syncs them to the disk,
// renames, and syncs the folder. Whatever fails, PATH keeps its old contents
// and PATH.tmp is removed; a kill may leave PATH.tmp, which the next write
// replaces. One writer a path at a time.
//
// Errors name the path: NotFound for a missing folder, PermissionDenied,
// ResourceExhausted for a full disk, else what errno says.
#ifndef OCTET_IO_ATOMIC_FILE_H_
#define OCTET_IO_ATOMIC_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace octet::io {

class AtomicFile {
 public:
  static absl::StatusOr<AtomicFile> Create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  // Gives up what was not committed.
  ~AtomicFile();

  // Appends. After an error each later call returns that error.
  absl::Status Write(const void* data, int64_t bytes);

  // At most once; FailedPrecondition after that.
  absl::Status Commit();

 private:
  AtomicFile(const std::string& path, int fd) : path_(path), fd_(fd) {}
  std::string TemporaryPath() const { return path_ + ".tmp"; }
  absl::Status Fail(int error, absl::string_view action);

  std::string path_;
  int fd_ = -1;
  absl::Status status_;
};

// Creates or replaces the file. What is a device or a pipe (/dev/stdout) is
// written to, which no rename does; AtomicFile refuses it.
absl::Status WriteFile(const std::string& path, absl::string_view contents);

// Makes renames inside the folder survive a loss of power.
absl::Status SyncFolder(const std::string& folder);

}  // namespace octet::io

#endif  // OCTET_IO_ATOMIC_FILE_H_
