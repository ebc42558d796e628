// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors_set.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "io/file.h"
#include "io/json.h"

namespace octet::io {
namespace {

constexpr char kSingle[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

absl::Status Remove(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
  }
  return absl::OkStatus();
}

// Tensor name to shard name.
absl::StatusOr<std::map<std::string, std::string>> ReadIndex(
    const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const Json index, ReadJsonFile(path));
  if (!index.is_object() || !index.contains("weight_map") ||
      !index["weight_map"].is_object()) {
    return absl::DataLossError(
        absl::StrCat(path, ": field 'weight_map' must be an object"));
  }
  std::map<std::string, std::string> shard_of;
  for (const auto& [tensor, shard] : index["weight_map"].items()) {
    // A shard lies in the folder: an index must not reach out of it.
    if (!shard.is_string() || shard.get<std::string>().empty() ||
        shard.get<std::string>().find('/') != std::string::npos) {
      return absl::DataLossError(
          absl::StrCat(path, ": field 'weight_map': '", tensor,
                       "' must name a file of this folder, is ",
                       DumpJson(shard).substr(0, 80)));
    }
    shard_of[tensor] = shard.get<std::string>();
  }
  return shard_of;
}

std::string ShardName(int64_t i, int64_t count) {
  return absl::StrFormat("model-%05d-of-%05d.safetensors", i + 1, count);
}

// Tensors by name, cut so that a shard has at most `max_bytes`.
std::vector<std::vector<NamedTensor>> Split(
    absl::Span<const NamedTensor> tensors, int64_t max_bytes) {
  std::vector<NamedTensor> sorted(tensors.begin(), tensors.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const NamedTensor& a, const NamedTensor& b) {
                     return a.name < b.name;
                   });
  std::vector<std::vector<NamedTensor>> shards(1);
  int64_t bytes = 0;
  for (NamedTensor& tensor : sorted) {
    const int64_t size = tensor.tensor.num_bytes();
    if (!shards.back().empty() && bytes + size > max_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += size;
    shards.back().push_back(std::move(tensor));
  }
  return shards;
}

}  // namespace

absl::StatusOr<SafetensorsSet> SafetensorsSet::Open(const std::string& folder) {
  SafetensorsSet set;
  set.folder_ = folder;
  const std::string single = JoinPath(folder, kSingle);
  const std::string index = JoinPath(folder, kIndex);
  if (Exists(single)) {
    OCTET_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(single));
    for (const std::string& name : file.names()) set.file_of_[name] = 0;
    set.files_.push_back(std::move(file));
  } else if (Exists(index)) {
    OCTET_ASSIGN_OR_RETURN(const auto shard_of, ReadIndex(index));
    std::map<std::string, int64_t> opened;
    for (const auto& [name, shard] : shard_of) {
      const auto [it, is_new] = opened.try_emplace(shard, opened.size());
      if (is_new) {
        OCTET_ASSIGN_OR_RETURN(SafetensorsFile file,
                               SafetensorsFile::Open(JoinPath(folder, shard)));
        set.files_.push_back(std::move(file));
      }
      if (!set.files_[it->second].Contains(name)) {
        return absl::DataLossError(absl::StrCat(
            index, ": tensor '", name, "' is not in its shard ", shard));
      }
      set.file_of_[name] = it->second;
    }
  } else {
    return absl::NotFoundError(absl::StrCat(folder, ": neither ", kSingle,
                                            " nor ", kIndex, " is there"));
  }
  for (const auto& [name, file] : set.file_of_) set.names_.push_back(name);
  return set;
}

bool SafetensorsSet::Contains(absl::string_view name) const {
  return file_of_.count(std::string(name)) > 0;
}

absl::StatusOr<TensorView> SafetensorsSet::Find(absl::string_view name) const {
  const auto it = file_of_.find(std::string(name));
  if (it == file_of_.end()) {
    return absl::NotFoundError(absl::StrCat(folder_, ": no tensor '", name,
                                            "' among ", names_.size()));
  }
  return files_[it->second].Find(name);
}

absl::StatusOr<StoredWeight> FindWeight(const SafetensorsSet& set,
                                        absl::string_view name) {
  StoredWeight weight;
  OCTET_ASSIGN_OR_RETURN(weight.data, set.Find(name));
  if (!IsFloat8(weight.data.dtype())) return weight;
  for (const char* suffix : {"_scale", "_scale_inv"}) {
    const std::string scale = absl::StrCat(name, suffix);
    if (!set.Contains(scale)) continue;
    OCTET_ASSIGN_OR_RETURN(weight.scale, set.Find(scale));
    return weight;
  }
  return absl::DataLossError(
      absl::StrCat(set.folder(), ": tensor '", name, "' is ",
                   Name(weight.data.dtype()), " and has no scale: neither '",
                   name, "_scale' nor '", name, "_scale_inv' is there"));
}

absl::Status WriteSafetensorsSet(const std::string& folder,
                                 absl::Span<const NamedTensor> tensors,
                                 const SafetensorsSetOptions& options) {
  const auto shards = Split(tensors, options.max_shard_bytes);
  if (shards.size() == 1) {
    OCTET_RETURN_IF_ERROR(
        WriteSafetensors(JoinPath(folder, kSingle), tensors, options.file)
            .status());
    return Remove(JoinPath(folder, kIndex));
  }
  Json weight_map = Json::object();
  int64_t total = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = ShardName(i, shards.size());
    for (const NamedTensor& tensor : shards[i]) {
      if (weight_map.contains(tensor.name)) {
        return absl::InvalidArgumentError(absl::StrCat(
            folder, ": the tensor name '", tensor.name, "' is given twice"));
      }
      weight_map[tensor.name] = name;
      total += tensor.tensor.num_bytes();
    }
    OCTET_RETURN_IF_ERROR(
        WriteSafetensors(JoinPath(folder, name), shards[i], options.file)
            .status());
  }
  OCTET_RETURN_IF_ERROR(WriteJsonFile(
      JoinPath(folder, kIndex), Json{{"metadata", {{"total_size", total}}},
                                     {"weight_map", std::move(weight_map)}}));
  return Remove(JoinPath(folder, kSingle));
}

}  // namespace octet::io
