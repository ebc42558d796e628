// SPDX-License-Identifier: Apache-2.0

#include "train/file_list.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace octet::train {
namespace {

namespace fs = std::filesystem;

bool IsTokenFile(const std::string& path) {
  return absl::EndsWith(path, ".bin") || absl::EndsWith(path, ".idx");
}

bool IsForValidation(const std::string& path) {
  std::string word;
  for (const char c : fs::path(path).filename().string() + ".") {
    if (absl::ascii_isalpha(c)) {
      word += absl::ascii_tolower(c);
    } else {
      if (word == "val" || word == "valid" || word == "validation") return true;
      word.clear();
    }
  }
  return false;
}

absl::StatusOr<std::vector<std::string>> FilesInFolder(
    const std::string& path) {
  std::error_code error;
  std::vector<std::string> files;
  fs::directory_iterator it(path, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const bool is_plain =
        it->is_regular_file(error) && !it->is_symlink(error) && !error;
    if (is_plain && it->path().filename().string()[0] != '.') {
      files.push_back(it->path().string());
    }
  }
  if (error) {
    return absl::NotFoundError(
        absl::StrCat("data: cannot list folder ", path, ": ", error.message()));
  }
  if (std::any_of(files.begin(), files.end(), IsTokenFile)) {
    files.erase(
        std::remove_if(files.begin(), files.end(),
                       [](const std::string& f) { return !IsTokenFile(f); }),
        files.end());
  }
  return files;
}

std::vector<std::string> FilesOfPattern(const std::string& pattern) {
  std::vector<std::string> files;
  glob_t matches;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matches) == 0) {
    for (size_t i = 0; i < matches.gl_pathc; ++i) {
      std::error_code error;
      if (!fs::is_directory(matches.gl_pathv[i], error)) {
        files.emplace_back(matches.gl_pathv[i]);
      }
    }
  }
  globfree(&matches);
  return files;
}

void MergeIndexAndBin(std::vector<std::string>* files) {
  const std::set<std::string> all(files->begin(), files->end());
  const auto has_index = [&all](const std::string& path) {
    return absl::EndsWith(path, ".bin") &&
           all.count(absl::StrCat(path.substr(0, path.size() - 4), ".idx")) > 0;
  };
  files->erase(std::remove_if(files->begin(), files->end(), has_index),
               files->end());
}

}  // namespace

absl::StatusOr<FileList> ListFiles(const std::string& path) {
  std::error_code error;
  std::vector<std::string> files;
  if (path.empty())
    return absl::InvalidArgumentError("data: the path is empty");
  if (fs::is_directory(path, error)) {
    OCTET_ASSIGN_OR_RETURN(files, FilesInFolder(path));
    if (files.empty()) {
      return absl::NotFoundError(absl::StrCat(
          "data: folder ", path, " has no regular files (links are skipped)"));
    }
  } else if (fs::exists(path, error) ||
             fs::exists(absl::StrCat(path, ".idx"), error)) {
    files.push_back(path);
  } else if (path.find_first_of("*?[") != std::string::npos) {
    files = FilesOfPattern(path);
    if (files.empty()) {
      return absl::NotFoundError(
          absl::StrCat("data: no file matches the pattern ", path));
    }
  } else {
    return absl::NotFoundError(absl::StrCat("data: there is no file ", path));
  }
  std::sort(files.begin(), files.end());
  MergeIndexAndBin(&files);
  FileList list;
  for (const std::string& file : files) {
    const bool held_out =
        files.size() > 1 && IsTokenFile(file) && IsForValidation(file);
    (held_out ? list.validation : list.training).push_back(file);
  }
  // A set of validation files alone is what the caller asked for by name.
  if (list.training.empty()) list.training.swap(list.validation);
  return list;
}

}  // namespace octet::train
