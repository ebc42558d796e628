// SPDX-License-Identifier: Apache-2.0
#include "base/available_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace octet {
namespace {

// The kernel's files say that they have no size.
std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// MemAvailable of /proc/meminfo, which counts in KiB.
std::optional<double> MemAvailable(const std::string& text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    double kib;
    if (words.size() >= 2 && words[0] == "MemAvailable:" &&
        absl::SimpleAtod(words[1], &kib)) {
      return kib * 1024;
    }
  }
  return std::nullopt;
}

// The group's path of a line "0::/path" (version 2) or "4:memory:/path".
std::string GroupOf(const std::string& text, bool is_version_2) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[1] == (is_version_2 ? "" : "memory")) {
      return parts[2] == "/" ? "" : std::string(parts[2]);
    }
  }
  return "";
}

// "max" of version 2 is no number.
void Lower(const std::string& path, std::optional<double>* least) {
  double limit;
  if (!absl::SimpleAtod(ReadText(path), &limit)) return;
  *least = least->has_value() ? std::min(**least, limit) : limit;
}

}  // namespace

absl::StatusOr<double> AvailableMemory(absl::string_view root) {
  const std::string at(root);
  std::optional<double> least =
      MemAvailable(ReadText(absl::StrCat(at, "/proc/meminfo")));
  const std::string groups = ReadText(absl::StrCat(at, "/proc/self/cgroup"));
  const std::string mount = absl::StrCat(at, "/sys/fs/cgroup");
  // Inside a container its own group is mounted as the root.
  for (const std::string& group : {std::string(), GroupOf(groups, true)}) {
    Lower(absl::StrCat(mount, group, "/memory.max"), &least);
  }
  for (const std::string& group : {std::string(), GroupOf(groups, false)}) {
    Lower(absl::StrCat(mount, "/memory", group, "/memory.limit_in_bytes"),
          &least);
  }
  if (!least) {
    return absl::NotFoundError(
        absl::StrCat(at, "/proc/meminfo says no MemAvailable"));
  }
  return *least;
}

}  // namespace octet
