// SPDX-License-Identifier: Apache-2.0

// Errors as values: nothing of the parser's throws.
#define TOML_EXCEPTIONS 0

#include <cmath>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "toml++/toml.h"
#include "train/job_config.h"
#include "train/job_keys.h"

namespace octet::train {
namespace {

class Reader {
 public:
  Reader(absl::string_view name, JobConfig* config)
      : name_(name), config_(config) {}

  absl::Status Read(const toml::table& table, const std::string& prefix) {
    for (const auto& [toml_key, node] : table) {
      const std::string key = absl::StrCat(prefix, prefix.empty() ? "" : ".",
                                           std::string(toml_key.str()));
      if (node.is_table()) {
        OCTET_RETURN_IF_ERROR(Read(*node.as_table(), key));
        continue;
      }
      const absl::Status status = Set(key, node);
      if (!status.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(
            name_, ":", node.source().begin.line, ": ", status.message()));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Set(const std::string& key, const toml::node& node) {
    std::string text;
    const char* type = nullptr;
    if (node.is_string()) {
      type = "a string";
      text = node.as_string()->get();
    } else if (node.is_boolean()) {
      type = "a boolean";
      text = node.as_boolean()->get() ? "true" : "false";
    } else if (node.is_integer()) {
      type = "a number";
      text = absl::StrCat(node.as_integer()->get());
    } else if (node.is_floating_point()) {
      type = "a number";
      double value = node.as_floating_point()->get();
      text = ToToml(&value);
    } else if (node.is_array()) {
      return SetList(key, *node.as_array());
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(key, " is a date or time, which no key takes"));
    }
    OCTET_RETURN_IF_ERROR(CheckType(key, type));
    return SetKey(key, text, config_);
  }

  // "true" or "3" in quotes is no boolean and no number.
  absl::Status CheckType(const std::string& name, const std::string& type) {
    for (const JobKey& key : JobKeys(config_)) {
      if (key.name != name) continue;
      std::string right = "a number";
      if (std::holds_alternative<bool*>(key.value)) right = "a boolean";
      if (std::holds_alternative<std::string*>(key.value)) right = "a string";
      if (std::holds_alternative<std::vector<std::string>*>(key.value)) {
        right = "a list of strings";
      }
      if (type != right) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " is ", type, ", must be ", right));
      }
    }
    return absl::OkStatus();
  }

  absl::Status SetList(const std::string& key, const toml::array& array) {
    std::vector<std::string> items;
    for (const toml::node& item : array) {
      if (!item.is_string()) {
        return absl::InvalidArgumentError(
            absl::StrCat(key, " is a list of other things than strings"));
      }
      items.push_back(item.as_string()->get());
    }
    OCTET_RETURN_IF_ERROR(CheckType(key, "a list of strings"));
    return SetKey(key, absl::StrJoin(items, ","), config_);
  }

  absl::string_view name_;
  JobConfig* config_;
};

}  // namespace

absl::Status ApplyToml(absl::string_view text, absl::string_view name,
                       JobConfig* config) {
  const toml::parse_result result =
      toml::parse(std::string_view(text.data(), text.size()),
                  std::string_view(name.data(), name.size()));
  if (!result) {
    const std::string_view what = result.error().description();
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(name), ":", result.error().source().begin.line,
                     ": ", std::string(what)));
  }
  return Reader(name, config).Read(result.table(), "");
}

}  // namespace octet::train
