// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "io/checksum.h"
#include "io/file.h"
#include "train/checkpoint_manifest.h"

namespace octet::train {
namespace {

using internal::Manifest;
using internal::ManifestFile;
using internal::Rows;

int64_t RowBytes(const TensorView& tensor) {
  const int64_t rows = Rows(tensor.shape());
  return rows == 0 ? 0 : tensor.num_bytes() / rows;
}

// Rows of dim 0, as bytes.
TensorView RowsAsBytes(const TensorView& tensor, int64_t first, int64_t count) {
  const int64_t row_bytes = RowBytes(tensor);
  return TensorView(tensor.as<char>() + first * row_bytes, DType::kU8,
                    Shape({count * row_bytes}), tensor.device());
}

// "f32 [2, 3]"
std::string Describe(DType dtype, const Shape& shape) {
  return absl::StrCat(Name(dtype), " ", shape.ToString());
}

absl::StatusOr<io::SafetensorsFile> OpenChecked(const std::string& path,
                                                const ManifestFile& file) {
  OCTET_ASSIGN_OR_RETURN(const uint64_t checksum, io::ChecksumFile(path));
  if (checksum != file.checksum) {
    return absl::DataLossError(
        absl::StrCat(path, ": damaged: its checksum is ", absl::Hex(checksum),
                     ", was saved with ", absl::Hex(file.checksum)));
  }
  OCTET_ASSIGN_OR_RETURN(io::SafetensorsFile opened,
                         io::SafetensorsFile::Open(path));
  if (opened.names().size() != file.tensors.size()) {
    return absl::DataLossError(
        absl::StrCat(path, ": holds ", opened.names().size(),
                     " tensors, the manifest says ", file.tensors.size()));
  }
  return opened;
}

}  // namespace

absl::StatusOr<FoundCheckpoint> FindLatest(const std::string& dir) {
  OCTET_ASSIGN_OR_RETURN(internal::CheckpointList list,
                         internal::ListCheckpoints(dir));
  if (list.complete.empty()) {
    return absl::NotFoundError(absl::StrCat(dir, ": no complete checkpoint",
                                            list.skipped.empty() ? "" : "; ",
                                            absl::StrJoin(list.skipped, "; ")));
  }
  FoundCheckpoint found;
  found.path = list.complete[0].path;
  found.step = list.complete[0].step;
  found.skipped = std::move(list.skipped);
  if (list.complete.size() > 1) found.older = list.complete[1].path;
  if (!list.damage.empty() && list.damaged.step > found.step) {
    found.damaged_path = list.damaged.path;
    found.damaged = list.damage;
  }
  return found;
}

absl::StatusOr<LoadedCheckpoint> LoadCheckpoint(const std::string& path) {
  OCTET_RETURN_IF_ERROR(internal::ListFolder(path).status());
  OCTET_ASSIGN_OR_RETURN(const Manifest manifest, internal::ReadManifest(path));
  OCTET_RETURN_IF_ERROR(internal::CheckSizes(path, manifest));
  LoadedCheckpoint loaded;
  loaded.path_ = path;
  loaded.step_ = manifest.step;
  loaded.state_ = manifest.state;
  for (const ManifestFile& file : manifest.files) {
    OCTET_RETURN_IF_ERROR(loaded.AddFile(file));
  }
  OCTET_RETURN_IF_ERROR(loaded.SortPieces());
  return loaded;
}

absl::Status LoadedCheckpoint::AddFile(const ManifestFile& file) {
  const std::string path = io::JoinPath(path_, file.name);
  OCTET_ASSIGN_OR_RETURN(io::SafetensorsFile opened, OpenChecked(path, file));
  Group& group = groups_[file.group];
  for (const auto& [name, box] : file.tensors) {
    const absl::StatusOr<TensorView> tensor = opened.Find(name);
    if (!tensor.ok()) return absl::DataLossError(tensor.status().message());
    if (!internal::IsRowBox(tensor->shape(), box.global_shape, box.first_row)) {
      return absl::DataLossError(
          absl::StrCat(path, ": tensor '", name, "' of ",
                       tensor->shape().ToString(), " from row ", box.first_row,
                       " is no part of ", box.global_shape.ToString()));
    }
    Saved& saved = group[name];
    if (!saved.pieces.empty() &&
        (saved.global_shape != box.global_shape ||
         saved.pieces[0].tensor.dtype() != tensor->dtype())) {
      return absl::DataLossError(absl::StrCat(
          path, ": tensor '", name, "' is part of ",
          Describe(tensor->dtype(), box.global_shape), ", in another file of ",
          Describe(saved.pieces[0].tensor.dtype(), saved.global_shape)));
    }
    saved.global_shape = box.global_shape;
    saved.pieces.push_back({*tensor, box.first_row});
  }
  files_.push_back(std::move(opened));
  return absl::OkStatus();
}

absl::Status LoadedCheckpoint::SortPieces() {
  for (auto& [group_name, group] : groups_) {
    for (auto& [name, saved] : group) {
      std::stable_sort(saved.pieces.begin(), saved.pieces.end(),
                       [](const Piece& a, const Piece& b) {
                         return a.first_row < b.first_row;
                       });
      int64_t next = 0;
      for (const Piece& piece : saved.pieces) {
        const int64_t rows = Rows(piece.tensor.shape());
        if (rows > 0 && piece.first_row != next) break;
        next += rows;
      }
      if (next != Rows(saved.global_shape)) {
        return absl::DataLossError(
            absl::StrCat(path_, ": tensor '", name, "' of ", group_name, " ",
                         saved.global_shape.ToString(), ": the rows from ",
                         next, " on are missing or there twice"));
      }
    }
  }
  return absl::OkStatus();
}

bool LoadedCheckpoint::Contains(absl::string_view group) const {
  return groups_.count(std::string(group)) > 0;
}

absl::Status LoadedCheckpoint::Check(
    absl::string_view group, const Group& saved,
    absl::Span<const CheckpointTensor> into) const {
  const auto complain = [&](const std::string& name, const auto&... what) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": tensor '", name, "' of ", group, " ", what...));
  };
  std::set<std::string> wanted;
  for (const CheckpointTensor& tensor : into) {
    wanted.insert(tensor.name);
    const auto it = saved.find(tensor.name);
    if (it == saved.end()) return complain(tensor.name, "is missing");
    const DType dtype = it->second.pieces[0].tensor.dtype();
    if (it->second.global_shape != tensor.global_shape ||
        dtype != tensor.tensor.dtype()) {
      return complain(tensor.name, "is ",
                      Describe(dtype, it->second.global_shape), ", expected ",
                      Describe(tensor.tensor.dtype(), tensor.global_shape));
    }
    if (!internal::IsRowBox(tensor.tensor.shape(), tensor.global_shape,
                            tensor.first_row)) {
      return complain(tensor.name, "is to fill ",
                      tensor.tensor.shape().ToString(), " from row ",
                      tensor.first_row, " of ", tensor.global_shape.ToString());
    }
  }
  for (const auto& [name, ignored] : saved) {
    if (wanted.count(name) == 0) {
      return complain(name, "is in the checkpoint and nowhere in the model");
    }
  }
  return absl::OkStatus();
}

absl::Status LoadedCheckpoint::Restore(
    const Stream& stream, absl::string_view group,
    absl::Span<const CheckpointTensor> into) const {
  const auto found = groups_.find(std::string(group));
  if (found == groups_.end()) {
    return absl::NotFoundError(
        absl::StrCat(path_, ": was saved without ", group));
  }
  OCTET_RETURN_IF_ERROR(Check(group, found->second, into));
  for (const CheckpointTensor& target : into) {
    const int64_t begin = target.first_row;
    const int64_t end = begin + Rows(target.tensor.shape());
    for (const Piece& piece : found->second.at(target.name).pieces) {
      const int64_t first = std::max(begin, piece.first_row);
      const int64_t last =
          std::min(end, piece.first_row + Rows(piece.tensor.shape()));
      if (first >= last) continue;
      OCTET_RETURN_IF_ERROR(
          Copy(stream,
               RowsAsBytes(piece.tensor, first - piece.first_row, last - first),
               RowsAsBytes(target.tensor, first - begin, last - first)));
    }
  }
  // The copies read this object's memory.
  return stream.Synchronize();
}

}  // namespace octet::train
