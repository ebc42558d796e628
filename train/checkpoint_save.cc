// SPDX-License-Identifier: Apache-2.0

// SaveCheckpoint: order is all. Files, then the manifest, then the rename, each
// on the disk before the next; old checkpoints go only after that.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "io/atomic_file.h"
#include "io/file.h"
#include "train/checkpoint.h"
#include "train/checkpoint_manifest.h"

namespace octet::train {
namespace {

using internal::CheckpointEntry;
using internal::CheckpointList;
using internal::Manifest;
using internal::ManifestFile;

absl::Status Check(const Checkpoint& checkpoint) {
  if (checkpoint.step < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("checkpoint: the step is ", checkpoint.step));
  }
  if (!checkpoint.state.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("checkpoint: the state must be an object, is ",
                     checkpoint.state.type_name()));
  }
  for (const auto& [group, tensors] : checkpoint.groups) {
    const bool good =
        !group.empty() && std::all_of(group.begin(), group.end(), [](char c) {
          return absl::ascii_isalnum(c) || c == '_' || c == '-';
        });
    if (!good) {
      return absl::InvalidArgumentError(
          absl::StrCat("checkpoint: '", group, "' cannot be a group's name"));
    }
    for (const CheckpointTensor& tensor : tensors) {
      if (!internal::IsRowBox(tensor.tensor.shape(), tensor.global_shape,
                              tensor.first_row)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "checkpoint: tensor '", tensor.name, "' of ", group, " is ",
            tensor.tensor.shape().ToString(), " from row ", tensor.first_row,
            " of ", tensor.global_shape.ToString()));
      }
    }
  }
  return absl::OkStatus();
}

bool IsOurs(absl::string_view name) {
  name = io::WithoutTemporary(name);
  return name == internal::kManifest || absl::EndsWith(name, ".safetensors");
}

// FailedPrecondition, naming it, if a folder holds what no save wrote. A
// missing folder is fine.
absl::Status CheckOnlyOurs(const std::string& path) {
  const absl::StatusOr<std::vector<std::string>> names =
      internal::ListFolder(path);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (!IsOurs(name)) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, " is kept: ", name, " in it is not a checkpoint's"));
    }
  }
  return absl::OkStatus();
}

absl::Status RemoveCheckpointFolder(const std::string& path) {
  OCTET_RETURN_IF_ERROR(CheckOnlyOurs(path));
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(),
                               absl::StrCat("cannot remove ", path));
  }
  return absl::OkStatus();
}

// First out of sight, in one step: half a checkpoint is never to be seen.
absl::Status RemoveCheckpoint(const std::string& path) {
  const std::string temporary = path + ".tmp";
  OCTET_RETURN_IF_ERROR(RemoveCheckpointFolder(temporary));
  OCTET_RETURN_IF_ERROR(CheckOnlyOurs(path));
  if (rename(path.c_str(), temporary.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
  }
  return RemoveCheckpointFolder(temporary);
}

absl::StatusOr<Manifest> WriteFiles(const std::string& folder,
                                    const Checkpoint& checkpoint) {
  Manifest manifest;
  manifest.step = checkpoint.step;
  manifest.state = checkpoint.state;
  for (const auto& [group, tensors] : checkpoint.groups) {
    ManifestFile file;
    file.group = group;
    file.name = group + ".safetensors";
    std::vector<io::NamedTensor> named;
    for (const CheckpointTensor& tensor : tensors) {
      named.push_back({tensor.name, tensor.tensor});
      file.tensors[tensor.name] = {tensor.global_shape, tensor.first_row};
    }
    OCTET_ASSIGN_OR_RETURN(
        const io::WrittenFile written,
        io::WriteSafetensors(io::JoinPath(folder, file.name), named));
    file.bytes = written.bytes;
    file.checksum = written.checksum;
    manifest.files.push_back(std::move(file));
  }
  OCTET_RETURN_IF_ERROR(internal::WriteManifest(folder, manifest));
  return manifest;
}

// Gives `temporary` the name `path`. A folder of that name changes places with
// it, in one step where the file system can, and is removed.
absl::Status Publish(const std::string& temporary, const std::string& path) {
  if (rename(temporary.c_str(), path.c_str()) == 0) return absl::OkStatus();
  if (errno != ENOTEMPTY && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", path));
  }
  OCTET_RETURN_IF_ERROR(CheckOnlyOurs(path));
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(),
                RENAME_EXCHANGE) != 0) {
    OCTET_RETURN_IF_ERROR(RemoveCheckpointFolder(path));
    if (rename(temporary.c_str(), path.c_str()) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", path));
    }
    return absl::OkStatus();
  }
  return RemoveCheckpointFolder(temporary);
}

// Interrupted saves of steps before `step`: they will not be taken up again.
void SweepInterrupted(const std::string& dir, int64_t step,
                      std::vector<std::string>* messages) {
  const auto names = internal::ListFolder(dir);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    absl::string_view stem = name;
    if (!absl::ConsumeSuffix(&stem, ".tmp")) continue;
    const int64_t other = internal::StepOfName(stem);
    if (other < 0 || other >= step) continue;
    const absl::Status removed =
        RemoveCheckpointFolder(io::JoinPath(dir, name));
    messages->push_back(
        removed.ok() ? absl::StrCat("removed ", name, ", an interrupted save")
                     : std::string(removed.message()));
  }
}

// Failing to remove is no failure of the save: it is reported.
void Prune(const std::string& dir, int64_t saved_step, int64_t keep,
           std::vector<std::string>* messages) {
  const absl::StatusOr<CheckpointList> list = internal::ListCheckpoints(dir);
  if (!list.ok()) {
    messages->push_back(std::string(list.status().message()));
    return;
  }
  if (!list->complete.empty() && list->complete[0].step > saved_step) {
    messages->push_back(absl::StrCat(
        "step-", list->complete[0].step, " is there, after step-", saved_step,
        " which was just saved: the latest is that one"));
  }
  if (keep <= 0) return;
  int64_t kept = 1;
  for (const CheckpointEntry& entry : list->complete) {
    if (entry.step == saved_step) continue;
    if (kept < keep) {
      ++kept;
      continue;
    }
    const absl::Status removed = RemoveCheckpoint(entry.path);
    if (!removed.ok()) messages->push_back(std::string(removed.message()));
  }
}

}  // namespace

absl::StatusOr<SavedCheckpoint> SaveCheckpoint(
    const std::string& dir, const Checkpoint& checkpoint,
    const CheckpointOptions& options) {
  OCTET_RETURN_IF_ERROR(Check(checkpoint));
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(),
                               absl::StrCat("cannot create ", dir));
  }
  SavedCheckpoint saved;
  saved.path = io::JoinPath(dir, absl::StrCat("step-", checkpoint.step));
  const std::string temporary = saved.path + ".tmp";
  OCTET_RETURN_IF_ERROR(RemoveCheckpointFolder(temporary));
  if (mkdir(temporary.c_str(), 0777) != 0) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("cannot create ", temporary));
  }
  const absl::StatusOr<Manifest> manifest = WriteFiles(temporary, checkpoint);
  absl::Status status = manifest.status();
  if (status.ok()) status = Publish(temporary, saved.path);
  if (!status.ok()) {
    // Of two errors the first is the one to report.
    RemoveCheckpointFolder(temporary).IgnoreError();
    return status;
  }
  OCTET_RETURN_IF_ERROR(io::SyncFolder(dir));
  for (const ManifestFile& file : manifest->files) saved.bytes += file.bytes;
  SweepInterrupted(dir, checkpoint.step, &saved.messages);
  Prune(dir, checkpoint.step, options.keep, &saved.messages);
  return saved;
}

}  // namespace octet::train
