// SPDX-License-Identifier: Apache-2.0

// Checkpoints: all that a training run needs to go on as if it had not stopped.
//
//   DIR/step-1200/manifest.json        step, state, files with their checksums
//   DIR/step-1200/GROUP.safetensors    one a group: master, adam_m, ...
//
// A checkpoint is written as step-N.tmp, synced to the disk and renamed, so a
// kill at any moment leaves the ones before it whole. Of other files in DIR
// nothing is read or removed. One process writes to a DIR at a time.
//
// Broken files are DataLoss errors that name the file.
#ifndef OCTET_TRAIN_CHECKPOINT_H_
#define OCTET_TRAIN_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/shape.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "io/json.h"
#include "io/safetensors.h"

namespace octet::train {

namespace internal {
struct ManifestFile;
}

// Rows [first_row, first_row + tensor's dim 0) of a tensor of global_shape; a
// scalar is one row. By default the tensor is all of it.
struct CheckpointTensor {
  CheckpointTensor(std::string name, const TensorView& tensor)
      : name(std::move(name)), tensor(tensor), global_shape(tensor.shape()) {}
  CheckpointTensor(std::string name, const TensorView& tensor,
                   const Shape& global_shape, int64_t first_row)
      : name(std::move(name)),
        tensor(tensor),
        global_shape(global_shape),
        first_row(first_row) {}

  std::string name;
  TensorView tensor;
  Shape global_shape;
  int64_t first_row = 0;
};

struct Checkpoint {
  int64_t step = 0;
  // By the name of the group, which is a file's name: letters, digits, _ and -.
  // Names are unique within a group. Work on tensors of a GPU must have
  // finished.
  std::map<std::string, std::vector<CheckpointTensor>> groups;
  // An object: schedule, position in the data, seeds. Numbers come back
  // exactly, NaN and infinities as null.
  io::Json state = io::Json::object();
};

struct CheckpointOptions {
  // Afterwards the complete checkpoints beyond this number, oldest steps first,
  // are removed; 0 keeps all. Never removed: the one just saved, and a folder
  // with a file that is not a checkpoint's.
  int64_t keep = 0;
};

struct SavedCheckpoint {
  std::string path;
  int64_t bytes = 0;
  std::vector<std::string> messages;  // for the log
};

// Creates DIR if needed and replaces a checkpoint of the same step.
// InvalidArgument for a negative step, a bad group name, a tensor outside its
// global shape or a state that is no object.
absl::StatusOr<SavedCheckpoint> SaveCheckpoint(
    const std::string& dir, const Checkpoint& checkpoint,
    const CheckpointOptions& options = {});

struct FoundCheckpoint {
  std::string path;
  int64_t step = 0;
  // One for each name in DIR that is none or no complete one, and why.
  std::vector<std::string> skipped;
  // The next complete one; the newest broken one of a larger step (no
  // interrupted save), and its error. Empty if there is none.
  std::string older, damaged_path, damaged;
};

// The complete checkpoint of the largest step: its manifest is sound and all
// files have their sizes. NotFound, with what was skipped, if there is none.
absl::StatusOr<FoundCheckpoint> FindLatest(const std::string& dir);

// An opened checkpoint; move-only.
class LoadedCheckpoint {
 public:
  const std::string& path() const { return path_; }
  int64_t step() const { return step_; }
  const io::Json& state() const { return state_; }

  // Whether a group was saved; an old file may lack, say, a recipe's state.
  bool Contains(absl::string_view group) const;

  // Fills tensors of any device from the group, whatever the rows each was
  // saved in, and waits for the stream. NotFound for a missing group.
  // InvalidArgument, naming the tensor, for one that is missing, left over, of
  // another dtype or global shape: nothing is written then.
  absl::Status Restore(const Stream& stream, absl::string_view group,
                       absl::Span<const CheckpointTensor> into) const;

 private:
  friend absl::StatusOr<LoadedCheckpoint> LoadCheckpoint(
      const std::string& path);
  struct Piece {
    TensorView tensor;
    int64_t first_row = 0;
  };
  struct Saved {
    Shape global_shape;
    std::vector<Piece> pieces;  // by first_row
  };
  using Group = std::map<std::string, Saved>;

  absl::Status AddFile(const internal::ManifestFile& file);
  // Whether the pieces of each tensor are all of it.
  absl::Status SortPieces();
  absl::Status Check(absl::string_view group, const Group& saved,
                     absl::Span<const CheckpointTensor> into) const;

  std::string path_;
  int64_t step_ = 0;
  io::Json state_;
  std::vector<io::SafetensorsFile> files_;
  std::map<std::string, Group> groups_;
};

// Verifies every checksum. NotFound if the folder is missing.
absl::StatusOr<LoadedCheckpoint> LoadCheckpoint(const std::string& path);

}  // namespace octet::train

#endif  // OCTET_TRAIN_CHECKPOINT_H_
