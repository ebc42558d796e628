// SPDX-License-Identifier: Apache-2.0
#include "io/json.h"

#include <limits>
#include <optional>
#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/atomic_file.h"
#include "io/file.h"

namespace octet::io {
namespace {

// "[json.exception.parse_error.101] parse error at line 1 ..." from "parse".
absl::string_view WithoutTag(absl::string_view what) {
  const size_t end = what.find("] ");
  return end == absl::string_view::npos ? what : what.substr(end + 2);
}

absl::StatusOr<const Json*> Field(const Json& object, absl::string_view key,
                                  absl::string_view name) {
  if (!object.is_object()) {
    return absl::DataLossError(absl::StrCat(name, ": expected an object with '",
                                            key, "', got ",
                                            object.type_name()));
  }
  const auto it = object.find(std::string(key));
  if (it == object.end()) {
    return absl::DataLossError(absl::StrCat(name, ": no field '", key, "'"));
  }
  return &*it;
}

absl::Status WrongType(const Json& value, absl::string_view key,
                       absl::string_view name, absl::string_view wanted) {
  return absl::DataLossError(absl::StrCat(name, ": field '", key, "' must be ",
                                          wanted, ", is ",
                                          DumpJson(value).substr(0, 80)));
}

}  // namespace

absl::StatusOr<Json> ParseJson(absl::string_view text, absl::string_view name) {
  // The parser keeps the last of equal names; the callback sees them all.
  std::vector<std::unordered_set<std::string>> names;
  std::optional<std::string> duplicate;
  const auto callback = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key &&
        !names.back().insert(parsed.get_ref<const std::string&>()).second) {
      duplicate = parsed.get_ref<const std::string&>();
    }
    return true;
  };
  Json result;
  try {
    result = Json::parse(text.begin(), text.end(), callback);
  } catch (const Json::exception& error) {
    return absl::DataLossError(
        absl::StrCat(name, ": ", WithoutTag(error.what())));
  }
  if (duplicate.has_value()) {
    return absl::DataLossError(
        absl::StrCat(name, ": '", *duplicate, "' stands twice in one object"));
  }
  return result;
}

absl::StatusOr<Json> ReadJsonFile(const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseJson(text, path);
}

std::string DumpJson(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string DumpPrettyJson(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::Status WriteJsonFile(const std::string& path, const Json& value) {
  return WriteFile(path, DumpPrettyJson(value));
}

absl::StatusOr<int64_t> GetInt(const Json& object, absl::string_view key,
                               absl::string_view name) {
  OCTET_ASSIGN_OR_RETURN(const Json* field, Field(object, key, name));
  if (!field->is_number_integer() ||
      (field->is_number_unsigned() &&
       field->get<uint64_t>() >
           static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))) {
    return WrongType(*field, key, name, "a whole number of 64 bits");
  }
  return field->get<int64_t>();
}

absl::StatusOr<double> GetNumber(const Json& object, absl::string_view key,
                                 absl::string_view name) {
  OCTET_ASSIGN_OR_RETURN(const Json* field, Field(object, key, name));
  if (!field->is_number()) return WrongType(*field, key, name, "a number");
  return field->get<double>();
}

absl::StatusOr<bool> GetBool(const Json& object, absl::string_view key,
                             absl::string_view name) {
  OCTET_ASSIGN_OR_RETURN(const Json* field, Field(object, key, name));
  if (!field->is_boolean()) {
    return WrongType(*field, key, name, "true or false");
  }
  return field->get<bool>();
}

absl::StatusOr<std::string> GetString(const Json& object, absl::string_view key,
                                      absl::string_view name) {
  OCTET_ASSIGN_OR_RETURN(const Json* field, Field(object, key, name));
  if (!field->is_string()) return WrongType(*field, key, name, "a string");
  return field->get<std::string>();
}

}  // namespace octet::io
