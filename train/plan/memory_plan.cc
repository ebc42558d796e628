// SPDX-License-Identifier: Apache-2.0

#include "train/plan/memory_plan.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace octet::train {
namespace {

// io::ReadFile takes a file's size first, which is 0 of those of the kernel.
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

MemoryNeeds EstimateMemory(const JobConfig& job,
                           const models::LlamaConfig& model) {
  const double width = job.training.mixed_precision_param == "float32" ? 4 : 2;
  const double tokens = static_cast<double>(job.training.local_batch_size) *
                        static_cast<double>(job.training.seq_len);
  const double heads = 2.0 * model.num_heads + 2.0 * model.num_kv_heads;
  const double row = 4.0 * model.hidden_size + heads * model.head_dim +
                     2.0 * model.intermediate_size;
  // At least 16 tokens' logits exist at once (models/llama/model.cc).
  const double chunk =
      std::min(tokens, std::max(16.0, 1.0 * job.training.loss_chunk));
  MemoryNeeds needs;
  needs.weights = (width < 4 ? 18.0 : 16.0) * models::NumParameters(model);
  needs.activations =
      tokens * model.num_layers * row * width + chunk * model.vocab_size * 4;
  return needs;
}

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

absl::StatusOr<std::string> CheckMemory(const MemoryNeeds& needs,
                                        double available) {
  constexpr double kGib = 1 << 30;
  const std::string text = absl::StrFormat(
      "%.2f GiB (weights and optimizer %.2f, activations at least %.2f), "
      "machine has %.1f GiB",
      needs.total() / kGib, needs.weights / kGib, needs.activations / kGib,
      available / kGib);
  if (needs.total() <= available) return text;
  return absl::ResourceExhaustedError(
      absl::StrCat("memory needs ", text, "; ",
                   needs.weights > available
                       ? "choose a smaller model.flavor"
                       : "choose a smaller training.local_batch_size (with "
                         "training.global_batch_size the step stays the same), "
                         "training.seq_len or model.flavor"));
}

}  // namespace octet::train
