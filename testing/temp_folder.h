// SPDX-License-Identifier: Apache-2.0

// An empty folder that goes away with its owner.
#ifndef OCTET_TESTING_TEMP_FOLDER_H_
#define OCTET_TESTING_TEMP_FOLDER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace octet::testing {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Join(absl::string_view name) const;
  // Names of what it holds, sorted.
  std::vector<std::string> List() const;

 private:
  std::string path_;
};

}  // namespace octet::testing

#endif  // OCTET_TESTING_TEMP_FOLDER_H_
