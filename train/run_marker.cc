// SPDX-License-Identifier: Apache-2.0

#include "train/run_marker.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "io/file.h"

namespace octet::train {
namespace {

// Whether the file at `path` is still the open one: its last holder may have
// removed it between the open and the lock.
bool IsStill(const std::string& path, int fd) {
  struct stat open_file;
  struct stat named;
  return fstat(fd, &open_file) == 0 && stat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

}  // namespace

absl::StatusOr<RunMarker> RunMarker::Lock(const std::string& folder) {
  RunMarker marker;
  marker.folder_ = folder;
  std::error_code error;
  marker.is_new_folder_ = std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(),
                               absl::StrCat("cannot create folder ", folder));
  }
  const std::string path = io::JoinPath(folder, kRunMarker);
  do {
    if (marker.fd_ >= 0) close(marker.fd_);
    marker.fd_ =
        open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (marker.fd_ < 0) return marker.Failed();
    if (flock(marker.fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(std::exchange(marker.fd_, -1));
      return absl::FailedPreconditionError(absl::StrCat(
          "another run is writing to ", folder,
          ": wait for it, or give this one another --job.dump_folder"));
    }
  } while (!IsStill(path, marker.fd_));
  OCTET_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(path));
  const size_t whole = text.rfind('\n') + 1;  // npos + 1 is 0
  if (whole < text.size() && ftruncate(marker.fd_, whole) != 0) {
    return marker.Failed();
  }
  const std::vector<std::string> lines =
      absl::StrSplit(text.substr(0, whole), '\n', absl::SkipEmpty());
  marker.names_.insert(lines.begin(), lines.end());
  return marker;
}

RunMarker::RunMarker(RunMarker&& other) noexcept
    : folder_(std::move(other.folder_)),
      fd_(std::exchange(other.fd_, -1)),
      is_new_folder_(other.is_new_folder_),
      names_(std::move(other.names_)) {}

RunMarker& RunMarker::operator=(RunMarker&& other) noexcept {
  if (this == &other) return *this;
  Release();
  folder_ = std::move(other.folder_);
  fd_ = std::exchange(other.fd_, -1);
  is_new_folder_ = other.is_new_folder_;
  names_ = std::move(other.names_);
  return *this;
}

RunMarker::~RunMarker() { Release(); }

void RunMarker::Release() {
  if (fd_ < 0) return;
  if (names_.empty()) {
    unlink(io::JoinPath(folder_, kRunMarker).c_str());
    if (is_new_folder_) rmdir(folder_.c_str());
  }
  close(std::exchange(fd_, -1));
}

absl::Status RunMarker::Failed() const {
  return absl::ErrnoToStatus(
      errno, absl::StrCat("cannot write ", io::JoinPath(folder_, kRunMarker)));
}

absl::Status RunMarker::Add(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (names_.count(name) == 0) absl::StrAppend(&text, name, "\n");
  }
  if (text.empty()) return absl::OkStatus();
  const ssize_t wrote = write(fd_, text.data(), text.size());
  if (wrote >= 0 && wrote < static_cast<ssize_t>(text.size())) errno = ENOSPC;
  if (wrote < static_cast<ssize_t>(text.size())) return Failed();
  names_.insert(names.begin(), names.end());
  return absl::OkStatus();
}

absl::Status RunMarker::Clear() {
  if (ftruncate(fd_, 0) != 0) return Failed();
  names_.clear();
  return absl::OkStatus();
}

}  // namespace octet::train
