// SPDX-License-Identifier: Apache-2.0

#include "train/run_folder.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/atomic_file.h"
#include "io/file.h"

namespace octet::train {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> EntriesOf(const RunFolder& folder) {
  // The job last: until it has gone, the rest still counts as a run's.
  return {folder.sample, folder.model, folder.metrics, folder.checkpoint,
          folder.job};
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

absl::Status Failed(absl::string_view what, const std::string& path,
                    const std::error_code& error) {
  return absl::ErrnoToStatus(error.value(),
                             absl::StrCat("cannot ", what, " ", path));
}

}  // namespace

absl::StatusOr<RunFolder> OpenRunFolder(const JobConfig& config) {
  std::error_code error;
  const std::string root =
      fs::absolute(config.job.dump_folder, error).lexically_normal().string();
  fs::create_directories(root, error);
  if (error) return Failed("create folder", root, error);
  RunFolder folder;
  folder.root = root;
  folder.job = io::JoinPath(root, "job.toml");
  folder.metrics = io::JoinPath(root, "metrics.jsonl");
  folder.checkpoint = io::JoinPath(root, config.checkpoint.folder);
  folder.model = io::JoinPath(root, "model");
  folder.sample = io::JoinPath(root, "sample.txt");
  return folder;
}

bool HasEarlierRun(const RunFolder& folder) {
  // job.toml is written first; what has neither is not a run's.
  return Exists(folder.job) || Exists(folder.checkpoint);
}

absl::StatusOr<std::string> MoveEarlierRun(const RunFolder& folder) {
  if (!HasEarlierRun(folder)) return std::string();
  std::string target;
  for (int i = 1; target.empty() || Exists(target); ++i) {
    target = io::JoinPath(folder.root, absl::StrCat("previous-", i));
  }
  std::error_code error;
  fs::create_directory(target, error);
  if (error) return Failed("create folder", target, error);
  for (const std::string& path : EntriesOf(folder)) {
    if (!Exists(path)) continue;
    const std::string to =
        io::JoinPath(target, path.substr(folder.root.size() + 1));
    fs::create_directories(fs::path(to).parent_path(), error);
    fs::rename(path, to, error);
    if (error) return Failed("move", path, error);
  }
  return target;
}

absl::StatusOr<JobConfig> ReadJob(const RunFolder& folder) {
  OCTET_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(folder.job));
  JobConfig config;
  OCTET_RETURN_IF_ERROR(ApplyToml(text, folder.job, &config));
  return config;
}

absl::Status WriteJob(const RunFolder& folder, const JobConfig& config) {
  return io::WriteFile(folder.job, DumpToml(config));
}

}  // namespace octet::train
