// SPDX-License-Identifier: Apache-2.0

// FOLDER/.octet_run: says that a run writes to the folder, and which names in
// it are a run's. No other file shows that: a user may have a job.toml too.
//
// It is locked as long as the object lives. The lock is the process's (flock),
// so it ends with it, however it ends. A file system without locks gives none.
//
// One name a line, written before the first file of that name. A line that a
// full disk cut short does not count.
#ifndef OCTET_TRAIN_RUN_MARKER_H_
#define OCTET_TRAIN_RUN_MARKER_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace octet::train {

constexpr char kRunMarker[] = ".octet_run";

// Move-only.
class RunMarker {
 public:
  RunMarker() = default;  // of no folder

  // Creates the folder and the file if need be. FailedPrecondition if another
  // run holds it.
  static absl::StatusOr<RunMarker> Lock(const std::string& folder);

  RunMarker(RunMarker&& other) noexcept;
  RunMarker& operator=(RunMarker&& other) noexcept;
  // Of a folder without names it removes the file, and the folder if Lock
  // created it and it is empty.
  ~RunMarker();

  const std::set<std::string>& names() const { return names_; }

  absl::Status Add(const std::vector<std::string>& names);
  absl::Status Clear();

 private:
  absl::Status Failed() const;
  void Release();

  std::string folder_;
  int fd_ = -1;
  bool is_new_folder_ = false;
  std::set<std::string> names_;
};

}  // namespace octet::train

#endif  // OCTET_TRAIN_RUN_MARKER_H_
