// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/input/gemm_cache.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "io/json.h"

namespace octet::tools {
namespace {

bool IsKey(absl::string_view key) {
  const std::vector<absl::string_view> parts = absl::StrSplit(key, ',');
  if (parts.size() != 4 && parts.size() != 5) return false;
  for (int i = 0; i < 3; ++i) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(parts[i], &size) || size <= 0) return false;
  }
  return parts[3] == "True" || parts[3] == "False";
}

bool IsSeconds(const io::Json& value) {
  return value.is_number() && value.get<double>() > 0 &&
         std::isfinite(value.get<double>());
}

}  // namespace

absl::StatusOr<GemmCache> GemmCache::Read(const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const io::Json json, io::ReadJsonFile(path));
  if (!json.is_object()) {
    return absl::DataLossError(absl::StrCat(path, ": no JSON object"));
  }
  GemmCache cache;
  cache.path_ = path;
  for (const auto& [key, value] : json.items()) {
    if (!IsKey(key)) {
      return absl::DataLossError(
          absl::StrCat(path, ": \"", key,
                       "\" is no product; one is as "
                       "\"512,1024,2048,True,row_major:col_major\""));
    }
    if (!value.is_array() || value.size() != 2 || !IsSeconds(value[0]) ||
        !IsSeconds(value[1])) {
      return absl::DataLossError(
          absl::StrCat(path, ": \"", key, "\" has ", io::DumpJson(value),
                       ", no [bf16 seconds, fp8 seconds]"));
    }
    cache.times_[key] = {value[0].get<double>(), value[1].get<double>()};
  }
  return cache;
}

absl::StatusOr<GemmCache::Seconds> GemmCache::Layer(
    const roofline::Sizes& sizes) const {
  const auto [m, k, n] = sizes;
  const std::pair<std::string, absl::string_view> products[] = {
      {absl::StrCat(m, ",", k, ",", n, ",True"), ",row_major:col_major"},
      {absl::StrCat(m, ",", n, ",", k, ",False"), ",row_major:row_major"},
      {absl::StrCat(k, ",", m, ",", n, ",False"), ",col_major:row_major"}};
  Seconds sum;
  for (const auto& [key, layout] : products) {
    auto found = times_.find(absl::StrCat(key, layout));
    if (found == times_.end()) found = times_.find(key);
    if (found == times_.end()) {
      return absl::NotFoundError(
          absl::StrCat(path_, ": \"", key, layout,
                       "\" is not there, and this tool measures nothing"));
    }
    sum.bf16 += found->second.bf16;
    sum.fp8 += found->second.fp8;
  }
  return sum;
}

}  // namespace octet::tools
