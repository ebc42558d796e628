// SPDX-License-Identifier: Apache-2.0

// Writes files that are either whole or not there.
//
// Bytes go to a new file PATH.XXXXXX.tmp in the same folder, of a name that
// nothing had; Commit syncs them to the disk, renames, and syncs the folder.
// Whatever fails, PATH keeps its old contents and the new file is removed; a
// kill may leave it (WithoutTemporary knows its name). Of several writers of a
// path the last to commit wins.
//
// A link stays: all of that happens where it leads. A file that is there keeps
// its permissions; one that the user may not write is PermissionDenied.
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
  AtomicFile(const std::string& path, const std::string& target,
             const std::string& temporary, int fd)
      : path_(path), target_(target), temporary_(temporary), fd_(fd) {}
  absl::Status Fail(int error, absl::string_view action);

  std::string path_;    // as named
  std::string target_;  // where its links lead
  std::string temporary_;
  int fd_ = -1;
  absl::Status status_;
};

// Creates or replaces the file. What is a device or a pipe, or leads to an open
// file (/dev/stdout), is written to, which no rename does; AtomicFile refuses
// it.
absl::Status WriteFile(const std::string& path, absl::string_view contents);

// OK if WriteFile can begin; nothing is written. Before work that takes long.
absl::Status CheckWritable(const std::string& path);

// NAME of "NAME.XXXXXX.tmp", what a killed write leaves; else `name` itself.
absl::string_view WithoutTemporary(absl::string_view name);

// Makes renames inside the folder survive a loss of power.
absl::Status SyncFolder(const std::string& folder);

}  // namespace octet::io

#endif  // OCTET_IO_ATOMIC_FILE_H_
