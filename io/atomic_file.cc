// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace octet::io {
namespace {

constexpr absl::string_view kSuffix = ".tmp";
constexpr size_t kLetters = 6;
constexpr int kTries = 100;

// Another each time, in this process and, but for chance, in others.
std::string Letters() {
  static std::atomic<uint64_t> calls{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  uint64_t x = static_cast<uint64_t>(now.count()) ^
               static_cast<uint64_t>(getpid()) << 40;
  x += 0x9e3779b97f4a7c15u * ++calls;  // splitmix64
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  std::string letters;
  for (size_t i = 0; i < kLetters; ++i, x /= 36) {
    letters += "0123456789abcdefghijklmnopqrstuvwxyz"[x % 36];
  }
  return letters;
}

// The path of a temporary file beside `path`; a long name is cut to fit.
std::string TemporaryFor(const std::string& path) {
  const size_t name = path.rfind('/') + 1;  // 0 without a slash
  const size_t most = NAME_MAX - kLetters - kSuffix.size() - 1;
  return absl::StrCat(path.substr(0, std::min(path.size(), name + most)), ".",
                      Letters(), kSuffix);
}

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
  if (path.size() - (path.rfind('/') + 1) > NAME_MAX) {
    return absl::ErrnoToStatus(ENAMETOOLONG,
                               absl::StrCat("cannot create ", path));
  }
  std::string temporary;
  int fd = -1;
  for (int i = 0; i < kTries; ++i) {
    temporary = TemporaryFor(path);
    fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) break;
  }
  if (fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", path));
  }
  return AtomicFile(path, temporary, fd);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      status_(std::move(other.status_)) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

absl::Status AtomicFile::Fail(int error, absl::string_view action) {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  unlink(temporary_.c_str());
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
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
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

absl::string_view WithoutTemporary(absl::string_view name) {
  absl::string_view stem = name;
  if (!absl::ConsumeSuffix(&stem, kSuffix)) return name;
  const size_t dot = stem.rfind('.');
  if (dot == 0 || dot == absl::string_view::npos ||
      stem.size() - dot - 1 != kLetters) {
    return name;
  }
  for (const char c : stem.substr(dot + 1)) {
    if (!absl::ascii_isdigit(c) && !absl::ascii_islower(c)) return name;
  }
  return stem.substr(0, dot);
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
