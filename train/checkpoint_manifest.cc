// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint_manifest.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "io/checksum.h"
#include "io/file.h"

namespace octet::train::internal {
namespace {

using ::octet::io::Json;

constexpr int64_t kVersion = 1;
constexpr char kOwnChecksum[] = "manifest_xxh64";

std::string Hex(uint64_t value) { return absl::StrFormat("%016x", value); }

// Of the manifest without the field that holds it.
std::string OwnChecksum(const Json& json) {
  io::Checksum checksum;
  const std::string text = io::DumpJson(json);
  checksum.Update(text.data(), text.size());
  return Hex(checksum.value());
}

Json ToJson(const ManifestFile& file) {
  Json tensors = Json::object();
  for (const auto& [name, tensor] : file.tensors) {
    const auto dims = tensor.global_shape.dims();
    tensors[name] = {
        {"global_shape", std::vector<int64_t>(dims.begin(), dims.end())},
        {"first_row", tensor.first_row}};
  }
  return {{"name", file.name},
          {"group", file.group},
          {"bytes", file.bytes},
          {"xxh64", Hex(file.checksum)},
          {"tensors", std::move(tensors)}};
}

absl::StatusOr<ManifestTensor> ParseTensor(const Json& json,
                                           const std::string& where) {
  ManifestTensor tensor;
  OCTET_ASSIGN_OR_RETURN(tensor.first_row,
                         io::GetInt(json, "first_row", where));
  std::vector<int64_t> dims;
  if (!json.contains("global_shape") || !json["global_shape"].is_array()) {
    return absl::DataLossError(
        absl::StrCat(where, ": field 'global_shape' must be an array"));
  }
  for (const Json& dim : json["global_shape"]) {
    if (!dim.is_number_integer()) {
      return absl::DataLossError(absl::StrCat(
          where, ": field 'global_shape' must hold whole numbers"));
    }
    dims.push_back(dim.get<int64_t>());
  }
  const absl::StatusOr<Shape> shape = Shape::FromDims(dims);
  if (!shape.ok()) {
    return absl::DataLossError(absl::StrCat(
        where, ": field 'global_shape': ", shape.status().message()));
  }
  tensor.global_shape = *shape;
  return tensor;
}

absl::StatusOr<ManifestFile> ParseFile(const Json& json,
                                       const std::string& path) {
  ManifestFile file;
  OCTET_ASSIGN_OR_RETURN(file.name, io::GetString(json, "name", path));
  OCTET_ASSIGN_OR_RETURN(file.group, io::GetString(json, "group", path));
  OCTET_ASSIGN_OR_RETURN(file.bytes, io::GetInt(json, "bytes", path));
  OCTET_ASSIGN_OR_RETURN(const std::string hex,
                         io::GetString(json, "xxh64", path));
  if (hex.size() != 16 || !absl::SimpleHexAtoi(hex, &file.checksum)) {
    return absl::DataLossError(absl::StrCat(
        path, ": field 'xxh64' must be 16 hexadecimal digits, is '", hex, "'"));
  }
  if (file.name.empty() || file.name.find('/') != std::string::npos) {
    return absl::DataLossError(
        absl::StrCat(path,
                     ": field 'name' must name a file of this folder, "
                     "is '",
                     file.name, "'"));
  }
  if (!json.contains("tensors") || !json["tensors"].is_object()) {
    return absl::DataLossError(
        absl::StrCat(path, ": field 'tensors' must be an object"));
  }
  for (const auto& [name, tensor] : json["tensors"].items()) {
    OCTET_ASSIGN_OR_RETURN(
        file.tensors[name],
        ParseTensor(tensor, absl::StrCat(path, ": tensor '", name, "'")));
  }
  return file;
}

// Whether the text is what was written, so that no damage goes unseen.
absl::StatusOr<Json> ReadSoundJson(const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(path));
  OCTET_ASSIGN_OR_RETURN(Json json, io::ParseJson(text, path));
  OCTET_ASSIGN_OR_RETURN(const std::string expected,
                         io::GetString(json, kOwnChecksum, path));
  const bool same_text = io::DumpPrettyJson(json) == text;
  json.erase(kOwnChecksum);
  if (!same_text || OwnChecksum(json) != expected) {
    return absl::DataLossError(absl::StrCat(
        path, ": damaged or edited: its checksum is not ", expected));
  }
  return json;
}

}  // namespace

int64_t Rows(const Shape& shape) {
  return shape.rank() == 0 ? 1 : shape.dim(0);
}

bool IsRowBox(const Shape& shape, const Shape& global_shape,
              int64_t first_row) {
  if (shape.rank() != global_shape.rank()) return false;
  for (int d = 1; d < shape.rank(); ++d) {
    if (shape.dim(d) != global_shape.dim(d)) return false;
  }
  return first_row >= 0 && first_row <= Rows(global_shape) - Rows(shape);
}

absl::Status WriteManifest(const std::string& folder,
                           const Manifest& manifest) {
  Json files = Json::array();
  for (const ManifestFile& file : manifest.files) files.push_back(ToJson(file));
  Json json = {{"format", "octet checkpoint"},
               {"version", kVersion},
               {"step", manifest.step},
               {"state", manifest.state},
               {"files", std::move(files)}};
  // Through text, as NaN changes to null on the way.
  OCTET_ASSIGN_OR_RETURN(json, io::ParseJson(io::DumpJson(json), kManifest));
  json[kOwnChecksum] = OwnChecksum(json);
  return io::WriteJsonFile(io::JoinPath(folder, kManifest), json);
}

absl::StatusOr<Manifest> ReadManifest(const std::string& folder) {
  const std::string path = io::JoinPath(folder, kManifest);
  absl::StatusOr<Json> json = ReadSoundJson(path);
  if (absl::IsNotFound(json.status())) {
    return absl::DataLossError(absl::StrCat(folder, ": no ", kManifest,
                                            ": the save was not completed"));
  }
  if (!json.ok()) return json.status();
  OCTET_ASSIGN_OR_RETURN(const int64_t version,
                         io::GetInt(*json, "version", path));
  if (version != kVersion) {
    return absl::UnimplementedError(
        absl::StrCat(path, ": the format's version is ", version,
                     ", this program reads ", kVersion));
  }
  Manifest manifest;
  OCTET_ASSIGN_OR_RETURN(manifest.step, io::GetInt(*json, "step", path));
  if (!json->contains("state") || !json->contains("files") ||
      !(*json)["files"].is_array()) {
    return absl::DataLossError(
        absl::StrCat(path, ": no fields 'state' and 'files'"));
  }
  manifest.state = (*json)["state"];
  for (const Json& file : (*json)["files"]) {
    OCTET_ASSIGN_OR_RETURN(ManifestFile parsed, ParseFile(file, path));
    manifest.files.push_back(std::move(parsed));
  }
  return manifest;
}

absl::Status CheckSizes(const std::string& folder, const Manifest& manifest) {
  for (const ManifestFile& file : manifest.files) {
    const std::string path = io::JoinPath(folder, file.name);
    struct stat info;
    if (stat(path.c_str(), &info) != 0) {
      if (errno == ENOENT) {
        return absl::DataLossError(absl::StrCat(path, ": missing"));
      }
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot stat ", path));
    }
    if (info.st_size != file.bytes) {
      return absl::DataLossError(absl::StrCat(
          path, ": has ", info.st_size, " bytes, was saved with ", file.bytes));
    }
  }
  return absl::OkStatus();
}

int64_t StepOfName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "step-")) return -1;
  int64_t step = 0;
  // One way to write a number, so that no two names have the same step.
  if (!absl::SimpleAtoi(name, &step) || absl::StrCat(step) != name) return -1;
  return step < 0 ? -1 : step;
}

absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator it(folder, error);
  for (; !error && it != std::filesystem::directory_iterator();
       it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) {
    return absl::ErrnoToStatus(error.value(),
                               absl::StrCat("cannot list ", folder));
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<CheckpointList> ListCheckpoints(const std::string& dir) {
  OCTET_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(dir));
  CheckpointList list;
  for (const std::string& name : names) {
    const int64_t step = StepOfName(name);
    const std::string path = io::JoinPath(dir, name);
    if (step < 0) {
      const bool interrupted = StepOfName(absl::StripSuffix(name, ".tmp")) >= 0;
      list.skipped.push_back(absl::StrCat(
          name, interrupted ? ": an interrupted save" : ": not a checkpoint"));
      continue;
    }
    const absl::StatusOr<Manifest> manifest = ReadManifest(path);
    absl::Status status = manifest.status();
    if (status.ok()) status = CheckSizes(path, *manifest);
    if (status.ok() && manifest->step != step) {
      status = absl::DataLossError(
          absl::StrCat(path, ": its manifest is of step ", manifest->step));
    }
    if (status.ok()) {
      list.complete.push_back({step, path});
    } else {
      list.skipped.push_back(absl::StrCat(name, ": ", status.message()));
      if (list.damage.empty() || step > list.damaged.step) {
        list.damaged = {step, path};
        list.damage = std::string(status.message());
      }
    }
  }
  std::sort(list.complete.begin(), list.complete.end(),
            [](const CheckpointEntry& a, const CheckpointEntry& b) {
              return a.step > b.step;
            });
  return list;
}

}  // namespace octet::train::internal
