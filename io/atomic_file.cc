// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace octet::io {
namespace {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A rename onto /dev/full would replace the device.
bool IsDevice(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) &&
         !S_ISDIR(info.st_mode);
}

// 0, or errno.
int WriteAll(int fd, const void* data, int64_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    // Linux takes at most 2^31 bytes a call.
    const ssize_t wrote =
        write(fd, next, std::min<int64_t>(bytes, int64_t{1} << 30));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    next += wrote;
    bytes -= wrote;
  }
  return 0;
}

absl::Status WriteDevice(const std::string& path, absl::string_view contents) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  const int error = WriteAll(fd, contents.data(), contents.size());
  close(fd);
  if (error == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", path));
}

}  // namespace

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  if (IsDevice(path)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot create ", path, ": a device or pipe is there"));
  }
  const std::string temporary = path + ".tmp";
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("cannot create ", temporary));
  }
  return AtomicFile(path, fd);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      status_(std::move(other.status_)) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(TemporaryPath().c_str());
}

absl::Status AtomicFile::Fail(int error, absl::string_view action) {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  unlink(TemporaryPath().c_str());
  status_ =
      absl::ErrnoToStatus(error, absl::StrCat("cannot ", action, " ", path_));
  return status_;
}

absl::Status AtomicFile::Write(const void* data, int64_t bytes) {
  OCTET_RETURN_IF_ERROR(status_);
  if (fd_ < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("write after the commit of ", path_));
  }
  const int error = WriteAll(fd_, data, bytes);
  if (error != 0) return Fail(error, "write");
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  OCTET_RETURN_IF_ERROR(status_);
  if (fd_ < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("second commit of ", path_));
  }
  // A network file system may report a failed write only here.
  if (fsync(fd_) != 0) return Fail(errno, "sync");
  if (close(std::exchange(fd_, -1)) != 0) return Fail(errno, "close");
  if (rename(TemporaryPath().c_str(), path_.c_str()) != 0) {
    return Fail(errno, "replace");
  }
  return SyncFolder(FolderOf(path_));
}

absl::Status WriteFile(const std::string& path, absl::string_view contents) {
  if (IsDevice(path)) return WriteDevice(path, contents);
  OCTET_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  OCTET_RETURN_IF_ERROR(file.Write(contents.data(), contents.size()));
  return file.Commit();
}

absl::Status SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", folder));
  }
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  // Some file systems cannot sync a folder; their renames are as safe as they
  // get.
  if (result != 0 && error != EINVAL && error != EROFS) {
    return absl::ErrnoToStatus(error, absl::StrCat("cannot sync ", folder));
  }
  return absl::OkStatus();
}

}  // namespace octet::io
