// SPDX-License-Identifier: Apache-2.0

#include "roofline/hardware_fields.h"

#include "absl/strings/str_cat.h"

namespace octet::roofline {
namespace internal {

std::string FieldName(absl::string_view key) {
  for (const Field& field : kFields) {
    if (field.key == key) return field.name;
  }
  for (const Table& table : kTables) {
    if (table.key == key) return table.name;
  }
  return key == kGpusPerNode ? kGpusPerNode : "";
}

std::string FieldKey(absl::string_view name) {
  for (const Field& field : kFields) {
    if (field.name == name) return field.key;
  }
  for (const Table& table : kTables) {
    if (table.name == name) return table.key;
  }
  return std::string(name);
}

}  // namespace internal

std::vector<HardwareNumber> HardwareNumbers(const Hardware& hardware) {
  const auto source = [&](const char* name) {
    const auto found = hardware.sources.find(name);
    return found == hardware.sources.end() ? "" : found->second;
  };
  std::vector<HardwareNumber> numbers;
  for (const internal::Field& field : internal::kFields) {
    const double value = hardware.*field.value;
    if (value == 0) continue;  // not known
    numbers.push_back(
        {field.key, field.unit.ToFile(value), source(field.name)});
  }
  numbers.push_back({internal::kGpusPerNode,
                     static_cast<double>(hardware.gpus_per_node),
                     source(internal::kGpusPerNode)});
  for (const internal::Table& table : internal::kTables) {
    for (const auto& [mode, value] : hardware.*table.values) {
      numbers.push_back({absl::StrCat(table.key, ".", mode),
                         table.unit.ToFile(value), source(table.name)});
    }
  }
  return numbers;
}

}  // namespace octet::roofline
