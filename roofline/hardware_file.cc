// SPDX-License-Identifier: Apache-2.0

// Errors as values: nothing of the parser's throws.
#define TOML_EXCEPTIONS 0

#include "roofline/hardware_file.h"

#include <charconv>
#include <cmath>
#include <locale>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "io/atomic_file.h"
#include "io/file.h"
#include "roofline/gemm_time.h"
#include "roofline/hardware_fields.h"
#include "toml++/toml.h"

namespace octet::roofline {
namespace {

using internal::Field;
using internal::FieldKey;
using internal::FieldName;
using internal::kFields;
using internal::kGpusPerNode;
using internal::kTables;
using internal::Table;
using internal::Unit;

std::string Known() {
  std::vector<std::string> keys = {"name", "aliases", kGpusPerNode};
  for (const Field& field : kFields) keys.push_back(field.key);
  for (const Table& table : kTables) keys.push_back(table.key);
  keys.push_back("sources");
  return absl::StrJoin(keys, ", ");
}

bool IsMode(absl::string_view name) {
  for (const GemmMode& mode : GemmModes()) {
    if (mode.name == name) return true;
  }
  return false;
}

std::string Modes() {
  return absl::StrJoin(GemmModes(), ", ",
                       [](std::string* out, const GemmMode& mode) {
                         absl::StrAppend(out, mode.name);
                       });
}

class Reader {
 public:
  Reader(absl::string_view file, Hardware* hardware)
      : file_(file), hardware_(hardware) {}

  absl::Status Read(const toml::table& top) {
    for (const auto& [toml_key, node] : top) {
      const std::string key(toml_key.str());
      OCTET_RETURN_IF_ERROR(Set(key, node));
      seen_.insert(key);
    }
    if (seen_.count("name") == 0) return Missing("name");
    for (const Field& field : kFields) {
      if (field.is_required && seen_.count(field.key) == 0) {
        return Missing(field.key);
      }
    }
    const absl::Status status = CheckHardware(*hardware_);
    if (status.ok()) return status;
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ": ", InFile(std::string(status.message()))));
  }

 private:
  // The same of the file's keys: CheckHardware names the fields, in their
  // units.
  std::string InFile(std::string message) const {
    for (const Field& field : kFields) {
      const std::string name = absl::StrCat(": ", field.name, " is ");
      const size_t at = message.find(name);
      if (at == std::string::npos) continue;
      message.resize(at);
      return absl::StrCat(message, ": ", field.key, " is ",
                          field.unit.ToFile(hardware_->*field.value),
                          ", which is too small or too large");
    }
    return message;
  }

  absl::Status Error(const toml::node& node, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ":", node.source().begin.line, ": ", what));
  }

  absl::Status Missing(absl::string_view key) const {
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ": ", key, " is missing"));
  }

  absl::StatusOr<double> Number(const std::string& key, const toml::node& node,
                                double high) const {
    double value = 0;
    if (node.is_integer()) {
      value = static_cast<double>(node.as_integer()->get());
    } else if (node.is_floating_point()) {
      value = node.as_floating_point()->get();
    } else {
      return Error(node, absl::StrCat(key, " must be a number"));
    }
    if (value > 0 && value <= high) return value;
    return Error(node, absl::StrCat(key, " is ", value,
                                    ", must be positive and at most ", high));
  }

  absl::StatusOr<std::string> Text(const std::string& key,
                                   const toml::node& node) const {
    if (node.is_string() && !node.as_string()->get().empty()) {
      return node.as_string()->get();
    }
    return Error(node, absl::StrCat(key, " must be a text"));
  }

  absl::Status Set(const std::string& key, const toml::node& node) {
    if (key == "name") {
      OCTET_ASSIGN_OR_RETURN(hardware_->name, Text(key, node));
      return absl::OkStatus();
    }
    if (key == kGpusPerNode) return SetGpus(node);
    if (key == "aliases") return SetAliases(node);
    if (key == "sources") return SetSources(node);
    for (const Field& field : kFields) {
      if (field.key != key) continue;
      OCTET_ASSIGN_OR_RETURN(const double value, Number(key, node, field.high));
      hardware_->*field.value = field.unit.FromFile(value);
      return absl::OkStatus();
    }
    for (const Table& table : kTables) {
      if (table.key == key) return SetTable(table, node);
    }
    return Error(node, absl::StrCat(key, " is no key; there are ", Known()));
  }

  absl::Status SetGpus(const toml::node& node) {
    OCTET_ASSIGN_OR_RETURN(const double value, Number(kGpusPerNode, node, 1e6));
    if (value != std::floor(value)) {
      return Error(node, absl::StrCat(kGpusPerNode, " is ", value,
                                      ", must be a whole number"));
    }
    hardware_->gpus_per_node = static_cast<int>(value);
    return absl::OkStatus();
  }

  absl::Status SetAliases(const toml::node& node) {
    if (!node.is_array()) return Error(node, "aliases must be a list of texts");
    for (const toml::node& item : *node.as_array()) {
      OCTET_ASSIGN_OR_RETURN(hardware_->aliases.emplace_back(),
                             Text("aliases", item));
    }
    return absl::OkStatus();
  }

  absl::Status SetTable(const Table& table, const toml::node& node) {
    if (!node.is_table()) {
      return Error(node, absl::StrCat(table.key, " must be a table"));
    }
    for (const auto& [key, item] : *node.as_table()) {
      const std::string mode(key.str());
      if (!IsMode(mode)) {
        return Error(item, absl::StrCat(table.key, ".", mode,
                                        " is no mode; there are ", Modes()));
      }
      OCTET_ASSIGN_OR_RETURN(
          const double value,
          Number(absl::StrCat(table.key, ".", mode), item, table.high));
      (hardware_->*table.values)[mode] = table.unit.FromFile(value);
    }
    return absl::OkStatus();
  }

  absl::Status SetSources(const toml::node& node) {
    if (!node.is_table()) return Error(node, "sources must be a table");
    for (const auto& [toml_key, item] : *node.as_table()) {
      const std::string key(toml_key.str());
      const std::string name = FieldName(key);
      if (name.empty()) {
        return Error(item, absl::StrCat("sources.", key, " is no key; ",
                                        "there are ", Known()));
      }
      OCTET_ASSIGN_OR_RETURN(hardware_->sources[name],
                             Text(absl::StrCat("sources.", key), item));
    }
    return absl::OkStatus();
  }

  const std::string file_;
  Hardware* hardware_;
  std::set<std::string> seen_;
};

std::string Quoted(const std::string& text) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << toml::value<std::string>(text);
  return out.str();
}

std::string BareOrQuoted(const std::string& key) {
  for (const char c : key) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '-') return Quoted(key);
  }
  return key.empty() ? Quoted(key) : key;
}

// The fewest digits that read back as the same value. Decimals always with a
// point, as TOML wants of what is no integer; no locale.
std::string ValueText(double value, const Unit& unit) {
  const double in_file = unit.ToFile(value);
  const double tries[] = {in_file, std::nextafter(in_file, INFINITY),
                          std::nextafter(in_file, 0)};
  std::string text;
  for (int digits = 6; digits <= 17; ++digits) {
    for (const double candidate : tries) {
      char buffer[64];
      const std::to_chars_result end =
          std::to_chars(buffer, buffer + sizeof(buffer), candidate,
                        std::chars_format::general, digits);
      text.assign(buffer, end.ptr);
      double back = 0;
      std::from_chars(buffer, end.ptr, back);
      if (unit.FromFile(back) != value) continue;
      const bool whole = text.find_first_of(".e") == std::string::npos;
      return whole ? text + ".0" : text;
    }
  }
  return text;
}

}  // namespace

absl::StatusOr<Hardware> ParseHardware(absl::string_view text,
                                       absl::string_view file) {
  const toml::parse_result result =
      toml::parse(std::string_view(text.data(), text.size()),
                  std::string_view(file.data(), file.size()));
  if (!result) {
    const std::string what(result.error().description());
    return absl::InvalidArgumentError(absl::StrCat(
        file, ":", result.error().source().begin.line, ": ", what));
  }
  Hardware hardware;
  OCTET_RETURN_IF_ERROR(Reader(file, &hardware).Read(result.table()));
  return hardware;
}

std::string HardwareToml(const Hardware& hardware) {
  std::string text = absl::StrCat("name = ", Quoted(hardware.name), "\n");
  if (!hardware.aliases.empty()) {
    std::vector<std::string> aliases;
    for (const std::string& alias : hardware.aliases) {
      aliases.push_back(Quoted(alias));
    }
    absl::StrAppend(&text, "aliases = [", absl::StrJoin(aliases, ", "), "]\n");
  }
  for (const Field& field : kFields) {
    // 0 is what a key that is not there means.
    if (hardware.*field.value == 0) continue;
    absl::StrAppend(&text, field.key, " = ",
                    ValueText(hardware.*field.value, field.unit), "\n");
  }
  absl::StrAppend(&text, kGpusPerNode, " = ", hardware.gpus_per_node, "\n");
  for (const Table& table : kTables) {
    const std::map<std::string, double>& values = hardware.*table.values;
    if (values.empty()) continue;
    absl::StrAppend(&text, "\n[", table.key, "]\n");
    for (const auto& [mode, value] : values) {
      absl::StrAppend(&text, BareOrQuoted(mode), " = ",
                      ValueText(value, table.unit), "\n");
    }
  }
  if (hardware.sources.empty()) return text;
  absl::StrAppend(&text, "\n[sources]\n");
  for (const auto& [name, source] : hardware.sources) {
    absl::StrAppend(&text, BareOrQuoted(FieldKey(name)), " = ", Quoted(source),
                    "\n");
  }
  return text;
}

std::string HardwareFileKeys() {
  std::string keys = "name, aliases";
  for (const Field& field : kFields) absl::StrAppend(&keys, ", ", field.key);
  absl::StrAppend(&keys, ", ", kGpusPerNode);
  for (const Table& table : kTables) {
    absl::StrAppend(&keys, ", [", table.key, "]");
  }
  return absl::StrCat(keys, ", [sources]");
}

absl::StatusOr<Hardware> ReadHardware(const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(path));
  return ParseHardware(text, path);
}

absl::Status WriteHardware(const Hardware& hardware, const std::string& path) {
  OCTET_RETURN_IF_ERROR(CheckHardware(hardware));
  return io::WriteFile(path, HardwareToml(hardware));
}

}  // namespace octet::roofline
