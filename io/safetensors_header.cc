// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/json.h"

namespace octet::io::internal {
namespace {

constexpr char kMetadata[] = "__metadata__";

// What is wrong with one tensor of one file.
struct Complaint {
  absl::string_view path;
  absl::string_view tensor;

  template <typename... Args>
  absl::Status operator()(const Args&... args) const {
    return absl::DataLossError(
        absl::StrCat(path, ": tensor '", tensor, "': ", args...));
  }
};

// An array of whole numbers >= 0.
absl::StatusOr<std::vector<int64_t>> Sizes(const Json& entry, const char* field,
                                           const Complaint& complain) {
  const auto it = entry.find(field);
  if (it == entry.end()) return complain("no field '", field, "'");
  const auto wrong = [&] {
    return complain("field '", field,
                    "' must be an array of whole numbers from 0, is ",
                    DumpJson(*it).substr(0, 80));
  };
  if (!it->is_array()) return wrong();
  std::vector<int64_t> sizes;
  for (const Json& size : *it) {
    if (!size.is_number_unsigned() ||
        size.get<uint64_t>() >
            static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return wrong();
    }
    sizes.push_back(size.get<int64_t>());
  }
  return sizes;
}

absl::StatusOr<DType> ParseEntryDType(const Json& entry,
                                      const Complaint& complain) {
  const auto it = entry.find("dtype");
  if (it == entry.end()) return complain("no field 'dtype'");
  if (!it->is_string()) {
    return complain("field 'dtype' must be a string, is ",
                    DumpJson(*it).substr(0, 80));
  }
  const std::string& text = it->get_ref<const std::string&>();
  const absl::StatusOr<DType> dtype = ParseDType(text);
  if (!dtype.ok()) {
    return complain("field 'dtype': ", dtype.status().message());
  }
  if (absl::AsciiStrToUpper(Name(*dtype)) != text) {
    return complain("field 'dtype': '", text, "' must be in capitals");
  }
  return *dtype;
}

absl::StatusOr<HeaderEntry> ParseEntry(const std::string& name,
                                       const Json& entry, int64_t data_bytes,
                                       absl::string_view path) {
  const Complaint complain{path, name};
  if (!entry.is_object()) {
    return complain("must be an object, is ", entry.type_name());
  }
  HeaderEntry result;
  result.name = name;
  OCTET_ASSIGN_OR_RETURN(result.dtype, ParseEntryDType(entry, complain));
  OCTET_ASSIGN_OR_RETURN(const std::vector<int64_t> dims,
                         Sizes(entry, "shape", complain));
  const absl::StatusOr<Shape> shape = Shape::FromDims(dims);
  if (!shape.ok()) {
    return complain("field 'shape': ", shape.status().message());
  }
  result.shape = *shape;
  OCTET_ASSIGN_OR_RETURN(const std::vector<int64_t> offsets,
                         Sizes(entry, "data_offsets", complain));
  if (offsets.size() != 2 || offsets[0] > offsets[1] ||
      offsets[1] > data_bytes) {
    return complain(
        "field 'data_offsets': ", DumpJson(entry["data_offsets"]).substr(0, 80),
        " is no range inside the file's ", data_bytes, " bytes of data");
  }
  result.begin = offsets[0];
  result.end = offsets[1];
  const absl::StatusOr<int64_t> bytes =
      CheckedProduct(shape->num_elements(), SizeOf(result.dtype));
  if (!bytes.ok() || *bytes != result.end - result.begin) {
    return complain("fields 'shape' and 'data_offsets': ", Name(result.dtype),
                    " ", shape->ToString(), " is not ",
                    result.end - result.begin, " bytes long");
  }
  return result;
}

absl::Status ParseMetadata(const Json& json, absl::string_view path,
                           std::map<std::string, std::string>* metadata) {
  if (!json.is_object()) {
    return absl::DataLossError(absl::StrCat(
        path, ": ", kMetadata, " must be an object, is ", json.type_name()));
  }
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      return absl::DataLossError(absl::StrCat(
          path, ": ", kMetadata, ": field '", key, "' must be a string, is ",
          DumpJson(value).substr(0, 80)));
    }
    (*metadata)[key] = value.get<std::string>();
  }
  return absl::OkStatus();
}

absl::Status CheckCover(const std::vector<HeaderEntry>& tensors,
                        int64_t data_bytes, absl::string_view path) {
  int64_t covered = 0;
  for (const HeaderEntry& entry : tensors) {
    if (entry.begin != covered) {
      return Complaint{path, entry.name}(
          "field 'data_offsets': begins at ", entry.begin, ", ",
          entry.begin < covered ? "inside the tensor before it, which ends at "
                                : "after a hole from ",
          covered);
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    return absl::DataLossError(
        absl::StrCat(path, ": the tensors' data_offsets end at ", covered,
                     ", the file has ", data_bytes, " bytes of data"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(
    absl::string_view text, int64_t data_bytes, absl::string_view path) {
  OCTET_ASSIGN_OR_RETURN(const Json json,
                         ParseJson(text, absl::StrCat(path, ": header")));
  if (!json.is_object()) {
    return absl::DataLossError(absl::StrCat(
        path, ": the header must be an object, is ", json.type_name()));
  }
  SafetensorsHeader header;
  for (const auto& [name, entry] : json.items()) {
    if (name == kMetadata) {
      OCTET_RETURN_IF_ERROR(ParseMetadata(entry, path, &header.metadata));
      continue;
    }
    OCTET_ASSIGN_OR_RETURN(HeaderEntry parsed,
                           ParseEntry(name, entry, data_bytes, path));
    header.tensors.push_back(std::move(parsed));
  }
  std::stable_sort(header.tensors.begin(), header.tensors.end(),
                   [](const HeaderEntry& a, const HeaderEntry& b) {
                     return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
                   });
  OCTET_RETURN_IF_ERROR(CheckCover(header.tensors, data_bytes, path));
  return header;
}

std::string FormatSafetensorsHeader(const SafetensorsHeader& header) {
  // Not through Json, which would sort tensors that stand in another order.
  std::string text = "{";
  if (!header.metadata.empty()) {
    absl::StrAppend(&text, "\"", kMetadata,
                    "\":", DumpJson(Json(header.metadata)));
  }
  for (const HeaderEntry& entry : header.tensors) {
    const Json fields = {
        {"dtype", absl::AsciiStrToUpper(Name(entry.dtype))},
        {"shape", std::vector<int64_t>(entry.shape.dims().begin(),
                                       entry.shape.dims().end())},
        {"data_offsets", {entry.begin, entry.end}}};
    absl::StrAppend(&text, text.size() > 1 ? "," : "",
                    DumpJson(Json(entry.name)), ":", DumpJson(fields));
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string result;
  for (int i = 0; i < 8; ++i) {
    result.push_back(static_cast<char>(text.size() >> (8 * i)));
  }
  return result + text;
}

}  // namespace octet::io::internal
