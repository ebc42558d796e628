// SPDX-License-Identifier: Apache-2.0
#include "tools/gemm_sweep/sweep_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "io/csv.h"
#include "io/file.h"
#include "roofline/gemm_time.h"

namespace octet::tools {
namespace {

using Fields = std::vector<std::string>;

constexpr int kKeyColumns = 7;  // device to accumulation

std::string KeyOf(const Fields& fields) {
  return io::CsvLine(Fields(fields.begin(), fields.begin() + kKeyColumns));
}

}  // namespace

SweepFile::SweepFile(std::string path, std::string device, int fd)
    : path_(std::move(path)), device_(std::move(device)), fd_(fd) {}

SweepFile::SweepFile(SweepFile&& other) noexcept
    : path_(std::move(other.path_)),
      device_(std::move(other.device_)),
      fd_(std::exchange(other.fd_, -1)),
      bytes_cut_(other.bytes_cut_),
      keys_(std::move(other.keys_)) {}

SweepFile::~SweepFile() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<SweepFile> SweepFile::Open(const std::string& path,
                                          const std::string& device) {
  struct stat before;
  const bool is_new = stat(path.c_str(), &before) != 0;
  const int fd =
      open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  SweepFile file(path, device, fd);
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": no regular file, which a sweep grows"));
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": another sweep is writing to it"));
  }
  const absl::Status loaded = file.Load();
  // On a full disk: a file without a header is of no use.
  if (!loaded.ok() && is_new) unlink(path.c_str());
  OCTET_RETURN_IF_ERROR(loaded);
  return file;
}

absl::Status SweepFile::Load() {
  OCTET_ASSIGN_OR_RETURN(std::string text, io::ReadFile(path_));
  const std::string header = io::CsvLine(roofline::GemmTableColumns());
  const size_t end = text.rfind('\n');
  const size_t whole = end == std::string::npos ? 0 : end + 1;
  bytes_cut_ = text.size() - whole;
  const std::string rest = text.substr(whole);
  text.resize(whole);
  // What is no table of ours stays as it is.
  const bool is_start = whole == 0 && header.compare(0, rest.size(), rest) == 0;
  if (!is_start && text.compare(0, header.size(), header) != 0) {
    return absl::DataLossError(absl::StrCat(
        path_, ":1: not a file of gemm_sweep, whose first line is ",
        header.substr(0, header.size() - 1)));
  }
  if (whole > 0) {
    OCTET_ASSIGN_OR_RETURN(const io::CsvTable csv, io::ParseCsv(text, path_));
    for (const io::CsvRow& row : csv.rows) keys_.insert(KeyOf(row.fields));
  }
  if (bytes_cut_ > 0 && ftruncate(fd_, whole) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot cut ", path_));
  }
  return whole > 0 ? absl::OkStatus() : Append(header);
}

absl::Status SweepFile::Append(const std::string& text) {
  const ssize_t wrote = write(fd_, text.data(), text.size());
  const int error = wrote < 0 ? errno : ENOSPC;
  if (wrote == static_cast<ssize_t>(text.size())) {
    if (fdatasync(fd_) == 0 || errno == EINVAL) return absl::OkStatus();
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot sync ", path_));
  }
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", path_));
}

std::string SweepFile::Key(const GemmCase& gemm) const {
  return KeyOf({device_, absl::StrCat(gemm.m), absl::StrCat(gemm.k),
                absl::StrCat(gemm.n), std::string(gemm.mode.dtype),
                std::string(gemm.mode.scale_mode),
                std::string(gemm.mode.accumulation)});
}

bool SweepFile::Has(const GemmCase& gemm) const {
  return keys_.count(Key(gemm)) > 0;
}

absl::Status SweepFile::Add(const GemmCase& gemm,
                            const MeasuredGemm& measured) {
  const double flop = 2.0 * gemm.m * gemm.k * gemm.n;
  const Fields rest = {io::CsvNumber(measured.seconds),
                       measured.heuristic_seconds
                           ? io::CsvNumber(*measured.heuristic_seconds)
                           : "",
                       io::CsvNumber(flop / measured.seconds * 1e-12), ""};
  std::string line = Key(gemm);
  line.back() = ',';
  return Append(line + io::CsvLine(rest));
}

absl::Status SweepFile::AddRefused(const GemmCase& gemm,
                                   const std::string& reason) {
  std::string line = Key(gemm);
  line.back() = ',';
  return Append(line + io::CsvLine({"", "", "", reason}));
}

}  // namespace octet::tools
