// SPDX-License-Identifier: Apache-2.0

// JSON with errors as statuses.
//
// Strict both ways: a name twice in one object, a number that no double holds
// and invalid UTF-8 are errors on reading; NaN and infinities are written as
// null. Independent of the locale. Errors are DataLoss and start with `name`,
// usually the path of the file.
#ifndef OCTET_IO_JSON_H_
#define OCTET_IO_JSON_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace octet::io {

// Objects are sorted by name, so the same value is always the same text.
using Json = nlohmann::json;

// The error says line and column.
absl::StatusOr<Json> ParseJson(absl::string_view text, absl::string_view name);

// NotFound if the file is missing.
absl::StatusOr<Json> ReadJsonFile(const std::string& path);

// One line.
std::string DumpJson(const Json& value);
// Indented by two spaces, with a line end: for files that people read.
std::string DumpPrettyJson(const Json& value);

// Atomic; see io/atomic_file.h.
absl::Status WriteJsonFile(const std::string& path, const Json& value);

// A field of an object by type. DataLoss when `object` is none, when the field
// is missing, and for another type; callers look at contains() for what may be
// absent. GetInt takes whole numbers of 64 bits only, GetNumber any number.
absl::StatusOr<int64_t> GetInt(const Json& object, absl::string_view key,
                               absl::string_view name);
absl::StatusOr<double> GetNumber(const Json& object, absl::string_view key,
                                 absl::string_view name);
absl::StatusOr<bool> GetBool(const Json& object, absl::string_view key,
                             absl::string_view name);
absl::StatusOr<std::string> GetString(const Json& object, absl::string_view key,
                                      absl::string_view name);

}  // namespace octet::io

#endif  // OCTET_IO_JSON_H_
