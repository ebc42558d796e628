// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/edit_distance.h"
#include "base/status_macros.h"

namespace octet::tools {
namespace {

std::string Plain(absl::string_view name) {
  return absl::StrReplaceAll(name, {{"-", "_"}});
}

std::optional<bool> BoolOf(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "true" || lower == "1") return true;
  if (lower == "false" || lower == "0") return false;
  return std::nullopt;
}

absl::Status Wrong(absl::string_view name, absl::string_view value,
                   absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("--", name, "=", value, what));
}

// A flag as it was written, and how it is known.
struct Flag {
  absl::string_view name;
  std::optional<std::string> value;
  const FlagSpec* spec = nullptr;
};

const FlagSpec* FindSpec(absl::Span<const FlagSpec> flags,
                         absl::string_view name) {
  const std::string plain = Plain(name);
  for (const FlagSpec& flag : flags) {
    if (Plain(flag.name) == plain) return &flag;
  }
  return nullptr;
}

absl::Status UnknownFlag(absl::string_view command,
                         absl::Span<const FlagSpec> flags,
                         absl::string_view word) {
  const std::string name = Plain(word.substr(0, word.find('=')));
  absl::string_view nearest;
  for (const FlagSpec& flag : flags) {
    if (IsNear(Plain(flag.name), name) &&
        (nearest.empty() || EditDistance(Plain(flag.name), name) <
                                EditDistance(Plain(nearest), name))) {
      nearest = flag.name;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      command, " has no flag --", word,
      nearest.empty() ? "" : absl::StrCat("; did you mean --", nearest, "?")));
}

absl::StatusOr<Flag> Split(absl::string_view command,
                           absl::Span<const FlagSpec> flags,
                           absl::string_view word) {
  Flag flag;
  const size_t equals = word.find('=');
  flag.name = word.substr(0, equals);
  if (equals != absl::string_view::npos) {
    flag.value = std::string(word.substr(equals + 1));
  }
  flag.spec = FindSpec(flags, flag.name);
  absl::string_view positive = flag.name;
  if (flag.spec == nullptr && absl::ConsumePrefix(&positive, "no") &&
      !flag.value) {
    flag.spec = FindSpec(flags, positive);
    if (flag.spec != nullptr && flag.spec->kind != FlagKind::kBool) {
      flag.spec = nullptr;
    }
    flag.value = "false";
  }
  if (flag.spec == nullptr) return UnknownFlag(command, flags, word);
  return flag;
}

}  // namespace

bool CommandLine::Has(absl::string_view name) const {
  return flags.find(name) != flags.end();
}

std::string CommandLine::Get(absl::string_view name,
                             absl::string_view or_else) const {
  const auto flag = flags.find(name);
  return flag == flags.end() ? std::string(or_else) : flag->second;
}

bool CommandLine::GetBool(absl::string_view name, bool or_else) const {
  const auto flag = flags.find(name);
  return flag == flags.end() ? or_else : flag->second == "true";
}

absl::StatusOr<int64_t> CommandLine::GetInt(absl::string_view name,
                                            int64_t or_else, int64_t min,
                                            int64_t max) const {
  const auto flag = flags.find(name);
  if (flag == flags.end()) return or_else;
  int64_t value = 0;
  if (!absl::SimpleAtoi(flag->second, &value) || value < min || value > max) {
    return Wrong(name, flag->second,
                 absl::StrCat(" is no whole number from ", min, " to ", max));
  }
  return value;
}

absl::StatusOr<double> CommandLine::GetDouble(absl::string_view name,
                                              double or_else, double min,
                                              double max) const {
  const auto flag = flags.find(name);
  if (flag == flags.end()) return or_else;
  double value = 0.0;
  if (!absl::SimpleAtod(flag->second, &value) || !(value >= min) ||
      !(value <= max)) {
    return Wrong(name, flag->second,
                 absl::StrCat(" is no number from ", min, " to ", max));
  }
  return value;
}

absl::StatusOr<std::string> CommandLine::GetChoice(
    absl::string_view name, absl::Span<const absl::string_view> choices) const {
  const std::string value = Get(name, choices[0]);
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) {
    return value;
  }
  return Wrong(name, value,
               absl::StrCat(" is none of ", absl::StrJoin(choices, ", ")));
}

absl::StatusOr<CommandLine> ParseCommandLine(
    absl::string_view command, absl::Span<const FlagSpec> flags,
    absl::Span<const std::string> arguments) {
  CommandLine line;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view word = arguments[i];
    if (!absl::ConsumePrefix(&word, "--")) {
      line.words.push_back(arguments[i]);
      continue;
    }
    if (word.empty()) {
      line.words.insert(line.words.end(), arguments.begin() + i + 1,
                        arguments.end());
      break;
    }
    OCTET_ASSIGN_OR_RETURN(Flag flag, Split(command, flags, word));
    if (flag.spec->kind == FlagKind::kSwitch) {
      if (flag.value) {
        return Wrong(flag.name, *flag.value, ": the flag takes no value");
      }
      flag.value = "";
    } else if (flag.spec->kind == FlagKind::kBool) {
      const bool has_word =
          !flag.value && i + 1 < arguments.size() && BoolOf(arguments[i + 1]);
      if (!flag.value) flag.value = has_word ? arguments[++i] : "true";
      const std::optional<bool> value = BoolOf(*flag.value);
      if (!value) return Wrong(flag.name, *flag.value, " is no true or false");
      flag.value = *value ? "true" : "false";
    } else if (!flag.value) {
      if (i + 1 == arguments.size() ||
          absl::StartsWith(arguments[i + 1], "--")) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", flag.name, " needs a value"));
      }
      flag.value = arguments[++i];
    }
    if (!line.flags.emplace(std::string(flag.spec->name), *flag.value).second) {
      return Wrong(flag.name, *flag.value, ": the flag is given twice");
    }
  }
  return line;
}

int RunCommand(int argc, char** argv, absl::string_view name,
               CommandResult (*run)(absl::Span<const std::string> arguments)) {
  // `bazel run` starts elsewhere than its user stands.
  const char* const directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && chdir(directory) != 0) {
    std::cerr << name << ": cannot enter " << directory << "\n";
    return 1;
  }
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const CommandResult result = run(arguments);
  std::cerr << result.error;
  std::cout << result.out << std::flush;
  if (!std::cout) {
    std::cerr << name << ": cannot write to standard output\n";
    return 1;
  }
  return result.exit_code;
}

}  // namespace octet::tools
