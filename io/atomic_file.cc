// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace octet::io {
namespace {

constexpr absl::string_view kSuffix = ".tmp";
constexpr size_t kLetters = 6;
constexpr int kTries = 100;
constexpr int kMostLinks = 40;  // as Linux

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

absl::Status Cannot(absl::string_view action, int error,
                    const std::string& path) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", action, " ", path));
}

// What a path leads to. Where it is a file, or nothing yet, `path` is no link.
struct Destination {
  std::string path;
  mode_t mode = 0666;      // of the file that is there
  bool is_there = false;   // a file
  bool is_stream = false;  // a device or pipe, or an open file of a process
  int fd = -1;             // of ours, which is such a stream
};

bool IsProcess(const std::string& folder) {
  struct statfs info;
  return statfs(folder.c_str(), &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

// The links of /proc are no names: /dev/stdout leads to what is open already,
// and a file of another name in its place would not be that.
bool IsOpenFile(const std::string& path, Destination* out) {
  char folder[PATH_MAX];
  if (realpath(FolderOf(path).c_str(), folder) == nullptr) return false;
  if (!IsProcess(folder)) return false;
  out->is_stream = true;
  out->path = path;
  if (absl::StrCat("/proc/", getpid(), "/fd") == folder &&
      !absl::SimpleAtoi(path.substr(path.rfind('/') + 1), &out->fd)) {
    out->fd = -1;
  }
  return true;
}

absl::StatusOr<Destination> DestinationOf(const std::string& path) {
  Destination out;
  out.path = path;
  struct stat info;
  for (int i = 0; lstat(out.path.c_str(), &info) == 0; ++i) {
    if (S_ISREG(info.st_mode)) {
      out.is_there = true;
      out.mode = info.st_mode & 0777;
      return out;
    }
    if (S_ISDIR(info.st_mode)) return Cannot("replace", EISDIR, path);
    if (!S_ISLNK(info.st_mode)) {
      out.is_stream = true;
      return out;
    }
    if (IsOpenFile(out.path, &out)) return out;
    char target[PATH_MAX];
    const ssize_t size = readlink(out.path.c_str(), target, sizeof(target));
    if (size < 0) return Cannot("read the link", errno, path);
    if (size == sizeof(target)) return Cannot("follow", ENAMETOOLONG, path);
    if (i == kMostLinks) return Cannot("follow", ELOOP, path);
    const std::string next(target, size);
    out.path =
        next[0] == '/' ? next : absl::StrCat(FolderOf(out.path), "/", next);
  }
  return out;
}

// A rename asks the folder alone; what may not be written stays as it is.
absl::Status CheckMayWrite(const Destination& to, const std::string& path) {
  if (!to.is_there) return absl::OkStatus();
  const int fd = open(to.path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return Cannot("write", errno, path);
  close(fd);
  return absl::OkStatus();
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

// Neither creates nor cuts: what is there is somebody's.
absl::Status WriteStream(const Destination& to, const std::string& path,
                         absl::string_view contents) {
  const int fd = to.fd >= 0 ? fcntl(to.fd, F_DUPFD_CLOEXEC, 0)
                            : open(to.path.c_str(),
                                   O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return Cannot("open", errno, path);
  const int error = WriteAll(fd, contents.data(), contents.size());
  const int close_error = close(fd) != 0 ? errno : 0;
  if (error != 0) return Cannot("write", error, path);
  return close_error != 0 ? Cannot("close", close_error, path)
                          : absl::OkStatus();
}

}  // namespace

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const Destination to, DestinationOf(path));
  if (to.is_stream) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot create ", path, ": a device or pipe is there"));
  }
  if (to.path.size() - (to.path.rfind('/') + 1) > NAME_MAX) {
    return Cannot("create", ENAMETOOLONG, path);
  }
  OCTET_RETURN_IF_ERROR(CheckMayWrite(to, path));
  std::string temporary;
  int fd = -1;
  for (int i = 0; i < kTries; ++i) {
    temporary = TemporaryFor(to.path);
    fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
              to.mode);
    if (fd >= 0 || errno != EEXIST) break;
  }
  if (fd < 0) return Cannot("create", errno, path);
  AtomicFile file(path, to.path, temporary, fd);
  // The mask took bits that the old file has.
  if (to.is_there && fchmod(fd, to.mode) != 0) {
    return file.Fail(errno, "set the permissions of");
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
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
  status_ = Cannot(action, error, path_);
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
  if (rename(temporary_.c_str(), target_.c_str()) != 0) {
    return Fail(errno, "replace");
  }
  return SyncFolder(FolderOf(target_));
}

absl::Status WriteFile(const std::string& path, absl::string_view contents) {
  OCTET_ASSIGN_OR_RETURN(const Destination to, DestinationOf(path));
  if (to.is_stream) return WriteStream(to, path, contents);
  OCTET_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  OCTET_RETURN_IF_ERROR(file.Write(contents.data(), contents.size()));
  return file.Commit();
}

absl::Status CheckWritable(const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const Destination to, DestinationOf(path));
  if (!to.is_stream) return AtomicFile::Create(path).status();
  if (access(to.path.c_str(), W_OK) == 0) return absl::OkStatus();
  return Cannot("write", errno, path);
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
    return Cannot("open", errno, folder);
  }
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  // Some file systems cannot sync a folder; their renames are as safe as they
  // get.
  if (result != 0 && error != EINVAL && error != EROFS) {
    return Cannot("sync", error, folder);
  }
  return absl::OkStatus();
}

}  // namespace octet::io
