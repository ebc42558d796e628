// SPDX-License-Identifier: Apache-2.0

// Which files a data path stands for, in an order that every rank agrees on.
//
//   a file     itself (for Megatron also the path without .idx)
//   a folder   its regular files; hidden ones and symbolic links are skipped,
//              so that no text counts twice. If it has .bin or .idx files,
//              those alone.
//   a pattern  what matches *, ? and [...], folders skipped
//
// Sorted by name, byte by byte. A .bin beside its .idx counts as one. Of
// several .bin or .idx files, those with the word val, valid or validation in
// their names ("val.bin", "fineweb_val_000000.bin") are for validation.
#ifndef OCTET_TRAIN_FILE_LIST_H_
#define OCTET_TRAIN_FILE_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace octet::train {

struct FileList {
  std::vector<std::string> training;
  std::vector<std::string> validation;
};

// NotFound, with the path as given, when there is no file.
absl::StatusOr<FileList> ListFiles(const std::string& path);

}  // namespace octet::train

#endif  // OCTET_TRAIN_FILE_LIST_H_
