// SPDX-License-Identifier: Apache-2.0

// manifest.json, and the names in a folder of checkpoints: for
// train/checkpoint*.cc alone.
#ifndef OCTET_TRAIN_CHECKPOINT_MANIFEST_H_
#define OCTET_TRAIN_CHECKPOINT_MANIFEST_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/shape.h"
#include "io/json.h"

namespace octet::train::internal {

constexpr char kManifest[] = "manifest.json";

struct ManifestTensor {
  Shape global_shape;
  int64_t first_row = 0;
};

// Whether `shape` can be the rows from `first_row` on of `global_shape`.
bool IsRowBox(const Shape& shape, const Shape& global_shape, int64_t first_row);

// Sizes of dim 0; a scalar is one row.
int64_t Rows(const Shape& shape);

struct ManifestFile {
  std::string name;  // in the checkpoint's folder
  std::string group;
  int64_t bytes = 0;
  uint64_t checksum = 0;
  std::map<std::string, ManifestTensor> tensors;
};

struct Manifest {
  int64_t step = 0;
  io::Json state;
  std::vector<ManifestFile> files;
};

absl::Status WriteManifest(const std::string& folder, const Manifest& manifest);

// DataLoss, naming the file, unless it is just what WriteManifest wrote;
// Unimplemented for another version of the format.
absl::StatusOr<Manifest> ReadManifest(const std::string& folder);

// DataLoss naming the first file that is missing or has another size.
absl::Status CheckSizes(const std::string& folder, const Manifest& manifest);

// "step-1200" gives 1200, any other name -1.
int64_t StepOfName(absl::string_view name);

struct CheckpointEntry {
  int64_t step = 0;
  std::string path;
};

struct CheckpointList {
  std::vector<CheckpointEntry> complete;  // by step, the largest first
  std::vector<std::string> skipped;       // "step-7: why"
  CheckpointEntry damaged;                // of the largest step
  std::string damage;                     // empty: none is
};

// NotFound if the folder is missing.
absl::StatusOr<CheckpointList> ListCheckpoints(const std::string& dir);

// Names in a folder, sorted.
absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& folder);

}  // namespace octet::train::internal

#endif  // OCTET_TRAIN_CHECKPOINT_MANIFEST_H_
