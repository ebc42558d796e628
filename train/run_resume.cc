// SPDX-License-Identifier: Apache-2.0

#include "train/run_resume.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace octet::train {
namespace {

std::string Name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::vector<std::string> DifferencesTo(const RunFolder& folder,
                                       const JobConfig& config) {
  const absl::StatusOr<JobConfig> before = ReadJob(folder);
  if (!before.ok()) return {std::string(before.status().message())};
  return Differences(config, *before);
}

}  // namespace

absl::StatusOr<ResumeChoice> ChooseResume(const JobConfig& config,
                                          const RunFolder& folder) {
  ResumeChoice choice;
  const std::string& mode = config.checkpoint.resume;
  if (mode == "never") {
    choice.reason = "--noresume";
    return choice;
  }
  absl::StatusOr<FoundCheckpoint> found = FindLatest(folder.checkpoint);
  std::error_code error;
  const bool is_there = std::filesystem::exists(folder.checkpoint, error);
  if (absl::IsNotFound(found.status())) {
    choice.reason = is_there
                        ? std::string(found.status().message())
                        : absl::StrCat("no checkpoint in ", folder.checkpoint);
    if (mode != "always") return choice;
    return absl::FailedPreconditionError(absl::StrCat(
        "no checkpoint to resume from in ", folder.root,
        is_there ? absl::StrCat(" (", found.status().message(), ")") : "",
        "; without --resume a new run starts"));
  }
  if (!found.ok()) return found.status();
  const std::vector<std::string> differences = DifferencesTo(folder, config);
  choice.reason = absl::StrJoin(differences, "; ");
  if (mode == "always" && !differences.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot resume ", found->path, ": ", choice.reason));
  }
  if (mode != "always" && !differences.empty()) return choice;
  if (!found->damaged.empty()) {
    return absl::DataLossError(absl::StrCat(
        found->damaged, "; delete ", found->damaged_path, " to resume from ",
        Name(found->path), ", --noresume starts anew"));
  }
  if (mode != "always" && found->step >= config.training.steps) {
    choice.reason = "it is complete";
    return choice;
  }
  choice.from = *std::move(found);
  return choice;
}

absl::Status ExplainDamage(const absl::Status& error,
                           const FoundCheckpoint& found) {
  if (!absl::IsDataLoss(error)) return error;
  return absl::DataLossError(
      absl::StrCat(error.message(), "; ",
                   found.older.empty()
                       ? ""
                       : absl::StrCat("delete ", found.path, " to resume from ",
                                      Name(found.older), ", "),
                   "--noresume starts anew"));
}

}  // namespace octet::train
