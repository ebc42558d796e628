// SPDX-License-Identifier: Apache-2.0
#include "io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace octet::io {
namespace {

// What a file that is neither regular nor a pipe is.
absl::string_view KindOf(mode_t mode) {
  return S_ISDIR(mode) ? "a folder" : S_ISSOCK(mode) ? "a socket" : "a device";
}

// Opens for reading, and says what it is. A folder is refused here: open() does
// not, and the errors that come later say nothing of use.
absl::StatusOr<int> OpenForReading(const std::string& path, struct stat* out) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  struct stat& info = *out;
  if (fstat(fd, &info) != 0) {
    const int error = errno;
    close(fd);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot stat ", path));
  }
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) {
    close(fd);
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is ", KindOf(info.st_mode), ", not a file"));
  }
  return fd;
}

absl::Status TooLarge(const std::string& path, int64_t most) {
  return absl::ResourceExhaustedError(
      absl::StrCat(path, " has more than ", most, " bytes"));
}

}  // namespace

std::string JoinPath(absl::string_view folder, absl::string_view name) {
  if (folder.empty()) return std::string(name);
  return absl::StrCat(absl::StripSuffix(folder, "/"), "/", name);
}

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t most) {
  struct stat info;
  const absl::StatusOr<int> fd = OpenForReading(path, &info);
  if (!fd.ok()) return fd.status();
  const auto closer = absl::MakeCleanup([&] { close(*fd); });
  const int64_t size = info.st_size;
  if (size > most) return TooLarge(path, most);
  std::string contents;
  int64_t filled = 0;
  // The size is a hint: files of /proc say 0, and another process may append.
  for (;;) {
    contents.resize(std::max<int64_t>(size + 1, filled + (int64_t{1} << 16)));
    const ssize_t got =
        read(*fd, contents.data() + filled, contents.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
    }
    if (got == 0) break;
    filled += got;
    if (filled > most) return TooLarge(path, most);
  }
  contents.resize(filled);
  return contents;
}

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  MappedFile file;
  file.path_ = path;
  struct stat info;
  const absl::StatusOr<int> fd = OpenForReading(path, &info);
  if (!fd.ok()) return fd.status();
  const auto closer = absl::MakeCleanup([&] { close(*fd); });
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is a pipe, which no memory maps"));
  }
  const int64_t size = info.st_size;
  if (size == 0) return file;
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, *fd, 0);
  if (data == MAP_FAILED) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot map ", path, " of ", size, " bytes"));
  }
  file.data_ = static_cast<uint8_t*>(data);
  file.size_ = size;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace octet::io
