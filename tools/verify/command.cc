// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/command.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/device.h"
#include "base/status_macros.h"
#include "tools/verify/linear.h"
#include "tools/verify/llama.h"

namespace octet::tools {
namespace {

constexpr char kUsage[] =
    R"(usage: verify [--device=DEVICE] [--lines=N] FOLDER...

Compares Octet with reference values that PyTorch, torchao and
transformers wrote. Exits with 1 if anything is out of tolerance.

A folder is one of
  llama   config.json, Hugging Face weights and expected.safetensors: logits,
          loss and gradients, then AdamW steps: losses, norms, final weights
  linear  linear_*.safetensors: casts byte by byte, outputs and gradients of a
          linear layer under the bf16, tensorwise, rowwise and rowwise_gw_hp
          recipes

  --device=DEVICE  where: cpu (default), cuda or cuda:N; llama folders alone
  --lines=N  how many of the worst tensors to list (default 8); those out of
             tolerance are always listed
)";

std::vector<std::string> LinearFiles(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (absl::StartsWith(name, "linear_") &&
        absl::EndsWith(name, ".safetensors")) {
      files.push_back(it->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

VerifyOutcome UsageError(const std::string& message) {
  return {2, "", absl::StrCat("verify: ", message, "; see --help\n")};
}

}  // namespace

absl::StatusOr<std::vector<VerifyReport>> VerifyFolder(
    const Stream& stream, const std::string& folder) {
  std::error_code error;
  const std::filesystem::file_status found =
      std::filesystem::status(folder, error);
  if (!std::filesystem::exists(found)) {
    return absl::NotFoundError(absl::StrCat(folder, ": no such folder"));
  }
  if (!std::filesystem::is_directory(found)) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": not a folder"));
  }
  std::vector<VerifyReport> reports;
  if (std::filesystem::exists(
          std::filesystem::path(folder) / "expected.safetensors", error)) {
    OCTET_ASSIGN_OR_RETURN(VerifyReport report, VerifyLlama(stream, folder));
    reports.push_back(std::move(report));
    return reports;
  }
  for (const std::string& path : LinearFiles(folder)) {
    OCTET_ASSIGN_OR_RETURN(VerifyReport report, VerifyLinear(path));
    reports.push_back(std::move(report));
  }
  if (!reports.empty() && stream.device().kind != DeviceKind::kCpu) {
    return absl::UnimplementedError(
        absl::StrCat(folder, ": linear layers are compared on the CPU, not on ",
                     stream.device().ToString()));
  }
  if (reports.empty()) {
    return absl::NotFoundError(
        absl::StrCat(folder,
                     ": neither expected.safetensors nor "
                     "linear_*.safetensors is there"));
  }
  return reports;
}

VerifyOutcome RunVerifyCommand(absl::Span<const std::string> arguments) {
  int64_t lines = 8;
  std::string device = "cpu";
  std::vector<std::string> folders;
  for (const std::string& argument : arguments) {
    absl::string_view value = argument;
    if (argument == "--help" || argument == "-h") return {0, kUsage, ""};
    if (absl::ConsumePrefix(&value, "--lines=")) {
      if (!absl::SimpleAtoi(value, &lines) || lines < 0) {
        return UsageError(absl::StrCat(argument, ": expected a number >= 0"));
      }
    } else if (absl::ConsumePrefix(&value, "--device=")) {
      device = std::string(value);
    } else if (absl::StartsWith(argument, "-")) {
      return UsageError(absl::StrCat("there is no flag ", argument));
    } else {
      folders.push_back(argument);
    }
  }
  if (folders.empty()) return UsageError("no folder is given");
  const absl::StatusOr<Device> resolved = ResolveDevice(device);
  if (absl::IsInvalidArgument(resolved.status())) {
    return UsageError(std::string(resolved.status().message()));
  }
  const absl::StatusOr<Stream> stream =
      resolved.ok() ? Stream::Create(*resolved) : resolved.status();
  if (!stream.ok()) {
    return {1, "", absl::StrCat("verify: ", stream.status().message(), "\n")};
  }
  VerifyOutcome outcome;
  for (const std::string& folder : folders) {
    const auto reports = VerifyFolder(*stream, folder);
    if (!reports.ok()) {
      outcome.exit_code = 1;
      absl::StrAppend(&outcome.error, "verify: ", reports.status().message(),
                      "\n");
      continue;
    }
    for (const VerifyReport& report : *reports) {
      if (!report.Passed()) outcome.exit_code = 1;
      absl::StrAppend(&outcome.out, Format(report, lines));
    }
  }
  return outcome;
}

}  // namespace octet::tools
