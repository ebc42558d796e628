// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "io/file.h"
#include "train/job_config.h"
#include "train/job_keys.h"

namespace octet::train {
namespace {

struct Argument {
  std::string key;
  std::optional<std::string> value;
};

// "--a-b.c=x" as ("a_b.c", "x").
absl::StatusOr<Argument> Split(const std::string& arg) {
  if (!absl::StartsWith(arg, "--") || arg.size() == 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument \"", arg,
                     "\"; options start with --, see --help"));
  }
  Argument argument;
  const size_t equals = arg.find('=');
  argument.key = absl::StrReplaceAll(
      arg.substr(2, equals == std::string::npos ? equals : equals - 2),
      {{"-", "_"}});
  if (equals != std::string::npos) argument.value = arg.substr(equals + 1);
  return argument;
}

// Short names, and torchtitan's --section.no_flag.
void Expand(Argument* argument) {
  std::string& key = argument->key;
  if (key == "data") key = "data.path";
  if (key == "device") key = "job.device";
  if (key == "job.config_file") key = "config";
  if (key == "print_config") key = "job.print_config";
  if (key == "deterministic") key = "training.deterministic";
  if ((key == "resume" || key == "noresume") && !argument->value) {
    argument->value = key == "resume" ? "always" : "never";
    key = "checkpoint.resume";
  }
  const size_t no = key.find(".no_");
  if (no != std::string::npos && !argument->value) {
    key.erase(no + 1, 3);
    argument->value = "false";
  }
}

bool IsFlag(const std::string& name) {
  JobConfig config;
  for (const JobKey& key : JobKeys(&config)) {
    if (key.name == name) return std::holds_alternative<bool*>(key.value);
  }
  return false;
}

}  // namespace

absl::StatusOr<JobArguments> ParseArguments(
    absl::Span<const std::string> args) {
  JobArguments result;
  std::vector<Argument> settings;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--help" || args[i] == "-h") {
      result.help = true;
      continue;
    }
    OCTET_ASSIGN_OR_RETURN(Argument argument, Split(args[i]));
    Expand(&argument);
    if (!argument.value && IsFlag(argument.key)) {
      const bool has_word = i + 1 < args.size() &&
                            (args[i + 1] == "true" || args[i + 1] == "false");
      argument.value = has_word ? args[++i] : "true";
    }
    if (!argument.value) {
      if (i + 1 == args.size() || absl::StartsWith(args[i + 1], "--")) {
        // An unknown key is the likelier mistake; SetKey tells it.
        OCTET_RETURN_IF_ERROR(argument.key == "config"
                                  ? absl::OkStatus()
                                  : SetKey(argument.key, "", &result.config));
        return absl::InvalidArgumentError(
            absl::StrCat(args[i], " needs a value"));
      }
      argument.value = args[++i];
    }
    if (argument.key != "config") {
      settings.push_back(argument);
      continue;
    }
    OCTET_ASSIGN_OR_RETURN(const std::string text,
                           io::ReadFile(*argument.value));
    OCTET_RETURN_IF_ERROR(ApplyToml(text, *argument.value, &result.config));
    result.config_files.push_back(*argument.value);
  }
  for (const Argument& setting : settings) {
    OCTET_RETURN_IF_ERROR(SetKey(setting.key, *setting.value, &result.config));
  }
  if (!result.help) OCTET_RETURN_IF_ERROR(Validate(result.config));
  return result;
}

}  // namespace octet::train
