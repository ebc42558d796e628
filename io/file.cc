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

// Opens for reading, and takes the size. A folder is refused here: open() does
// not, and the errors that come later say nothing of use.
absl::StatusOr<int> OpenForReading(const std::string& path, int64_t* size) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  struct stat info;
  if (fstat(fd, &info) != 0) {
    const int error = errno;
    close(fd);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot stat ", path));
  }
  if (S_ISDIR(info.st_mode)) {
    close(fd);
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is a folder, not a file"));
  }
  *size = info.st_size;
  return fd;
}

}  // namespace

std::string JoinPath(absl::string_view folder, absl::string_view name) {
  if (folder.empty()) return std::string(name);
  return absl::StrCat(absl::StripSuffix(folder, "/"), "/", name);
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  int64_t size = 0;
  const absl::StatusOr<int> fd = OpenForReading(path, &size);
  if (!fd.ok()) return fd.status();
  const auto closer = absl::MakeCleanup([&] { close(*fd); });
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
  }
  contents.resize(filled);
  return contents;
}

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  MappedFile file;
  file.path_ = path;
  int64_t size = 0;
  const absl::StatusOr<int> fd = OpenForReading(path, &size);
  if (!fd.ok()) return fd.status();
  const auto closer = absl::MakeCleanup([&] { close(*fd); });
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
