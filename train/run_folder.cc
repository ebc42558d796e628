// SPDX-License-Identifier: Apache-2.0

#include "train/run_folder.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/atomic_file.h"
#include "io/file.h"

namespace octet::train {
namespace {

namespace fs = std::filesystem;

constexpr char kJob[] = "job.toml";
constexpr char kMetrics[] = "metrics.jsonl";
constexpr char kModel[] = "model";
constexpr char kSample[] = "sample.txt";
constexpr char kPrevious[] = "previous-";

// Without "." and a slash at the end.
std::string Normal(const fs::path& path) {
  std::string normal = path.lexically_normal().string();
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

std::vector<std::string> NamesOf(const JobConfig& config) {
  return {kSample, kModel, kMetrics, Normal(config.checkpoint.folder), kJob};
}

// Also for a link to nothing.
bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

bool IsEmptyFolder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) && fs::is_empty(path, error);
}

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error);
}

// Whether `file` is `path` or lies in that folder.
bool IsWithin(const std::string& path, const std::string& file) {
  std::error_code error;
  const std::string top = fs::weakly_canonical(path, error).string();
  const std::string real = fs::weakly_canonical(file, error).string();
  return real == top || absl::StartsWith(real, top + "/");
}

absl::Status Failed(absl::string_view what, const std::string& path,
                    const std::error_code& error) {
  return absl::ErrnoToStatus(error.value(),
                             absl::StrCat("cannot ", what, " ", path));
}

absl::Status KeptError(const std::string& file, absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(
      file, " was given with --config and would be ", what,
      ": copy it elsewhere, or give the run another --job.dump_folder"));
}

}  // namespace

absl::Status CheckFolderNames(const JobConfig& config) {
  const fs::path folder = Normal(config.checkpoint.folder);
  const std::string first = folder.begin()->string();
  if (first == kJob || first == kMetrics || first == kModel ||
      first == kSample || first == kRunMarker || first == "." ||
      absl::StartsWith(first, kPrevious)) {
    return absl::InvalidArgumentError(
        absl::StrCat("checkpoint.folder is \"", config.checkpoint.folder,
                     "\": a run keeps other things in ", first,
                     ", give another name such as \"checkpoint\""));
  }
  return absl::OkStatus();
}

absl::StatusOr<RunFolder> OpenRunFolder(const JobConfig& config) {
  OCTET_RETURN_IF_ERROR(CheckFolderNames(config));
  std::error_code error;
  RunFolder folder;
  folder.root = Normal(fs::absolute(config.job.dump_folder, error));
  OCTET_ASSIGN_OR_RETURN(folder.marker, RunMarker::Lock(folder.root));
  for (const std::string& name : NamesOf(config)) {
    const std::string path = io::JoinPath(folder.root, name);
    if (folder.marker.names().count(name) == 0 && Exists(path) &&
        !IsEmptyFolder(path)) {
      return absl::FailedPreconditionError(absl::StrCat(
          path,
          " is there and is not a run's: move it away, or give the run "
          "another --job.dump_folder"));
    }
  }
  folder.job = io::JoinPath(folder.root, kJob);
  folder.metrics = io::JoinPath(folder.root, kMetrics);
  folder.checkpoint =
      io::JoinPath(folder.root, Normal(config.checkpoint.folder));
  folder.model = io::JoinPath(folder.root, kModel);
  folder.sample = io::JoinPath(folder.root, kSample);
  return folder;
}

bool HasEarlierRun(const RunFolder& folder) {
  for (const std::string& name : folder.marker.names()) {
    if (Exists(io::JoinPath(folder.root, name))) return true;
  }
  return false;
}

absl::StatusOr<std::string> MoveEarlierRun(RunFolder* folder,
                                           absl::Span<const std::string> kept) {
  if (!HasEarlierRun(*folder)) return std::string();
  const std::vector<std::string> names(folder->marker.names().begin(),
                                       folder->marker.names().end());
  for (const std::string& name : names) {
    const std::string path = io::JoinPath(folder->root, name);
    for (const std::string& file : kept) {
      if (IsWithin(path, file)) return KeptError(file, "moved");
    }
  }
  std::string target;
  for (int i = 1; target.empty() || Exists(target); ++i) {
    target = io::JoinPath(folder->root, absl::StrCat(kPrevious, i));
  }
  // Marked too: a run may go on there.
  OCTET_ASSIGN_OR_RETURN(RunMarker marker, RunMarker::Lock(target));
  OCTET_RETURN_IF_ERROR(marker.Add(names));
  for (const std::string& name : names) {
    const std::string path = io::JoinPath(folder->root, name);
    if (!Exists(path)) continue;
    const std::string to = io::JoinPath(target, name);
    std::error_code error;
    fs::create_directories(fs::path(to).parent_path(), error);
    fs::rename(path, to, error);
    if (error) return Failed("move", path, error);
  }
  // What is not yet moved stays marked until here.
  OCTET_RETURN_IF_ERROR(folder->marker.Clear());
  return target;
}

absl::StatusOr<JobConfig> ReadJob(const RunFolder& folder) {
  OCTET_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(folder.job));
  JobConfig config;
  OCTET_RETURN_IF_ERROR(ApplyToml(text, folder.job, &config));
  return config;
}

absl::Status WriteJob(RunFolder* folder, const JobConfig& config,
                      absl::Span<const std::string> kept) {
  const std::string text = DumpToml(config);
  const auto before = io::ReadFile(folder->job);
  if (before.ok() && *before == text) return absl::OkStatus();
  for (const std::string& file : kept) {
    if (IsSameFile(folder->job, file)) return KeptError(file, "overwritten");
  }
  OCTET_RETURN_IF_ERROR(folder->marker.Add(NamesOf(config)));
  return io::WriteFile(folder->job, text);
}

}  // namespace octet::train
