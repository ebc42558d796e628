// SPDX-License-Identifier: Apache-2.0

#include "train/token_format.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace octet::train {
namespace {

std::string DetectFormat(const io::MappedFile& file) {
  if (internal::IsMegatronIndex(file)) return "megatron";
  if (internal::IsLlmc(file)) return "llmc";
  if (absl::EndsWith(file.path(), ".bin")) return "nanogpt";
  return "text";
}

// Megatron's users name a data set without its extension, or by its .bin.
std::string MegatronIndexPath(const std::string& path) {
  if (absl::EndsWith(path, ".idx")) return path;
  if (absl::EndsWith(path, ".bin")) {
    return absl::StrCat(path.substr(0, path.size() - 4), ".idx");
  }
  return absl::StrCat(path, ".idx");
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

std::vector<std::string> TokenFormats() {
  return {"auto", "text", "llmc", "nanogpt", "megatron"};
}

absl::StatusOr<TokenFile> OpenTokenFile(const std::string& path,
                                        absl::string_view format) {
  std::string actual = path;
  const bool has_index =
      absl::EndsWith(path, ".bin") && Exists(MegatronIndexPath(path));
  if (format == "megatron" || (format == "auto" && has_index)) {
    actual = MegatronIndexPath(path);
  }
  OCTET_ASSIGN_OR_RETURN(io::MappedFile file, io::MappedFile::Open(actual));
  if (file.size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(actual, " is empty"));
  }
  const std::string chosen =
      format == "auto" ? DetectFormat(file) : std::string(format);
  if (chosen == "text") {
    if (format == "auto" &&
        absl::string_view(reinterpret_cast<const char*>(file.data()),
                          std::min<int64_t>(file.size(), 4096))
                .find('\0') != absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(actual,
                       " is not text (it has zero bytes); name its "
                       "format with --data.format"));
    }
    return internal::OpenText(std::move(file));
  }
  if (chosen == "llmc") return internal::OpenLlmc(std::move(file));
  if (chosen == "nanogpt") return internal::OpenNanogpt(std::move(file));
  if (chosen == "megatron") return internal::OpenMegatron(std::move(file));
  return absl::InvalidArgumentError(
      absl::StrCat("unknown data format \"", chosen, "\"; known are ",
                   absl::StrJoin(TokenFormats(), ", ")));
}

}  // namespace octet::train
