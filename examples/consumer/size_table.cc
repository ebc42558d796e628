// SPDX-License-Identifier: Apache-2.0

#include "size_table.h"

#include "absl/strings/str_cat.h"
#include "base/dtype.h"

absl::StatusOr<std::string> SizeLine(absl::string_view dtype,
                                     int64_t elements) {
  absl::StatusOr<octet::DType> parsed = octet::ParseDType(dtype);
  if (!parsed.ok()) return parsed.status();
  return absl::StrCat(octet::Name(*parsed), ": ",
                      octet::SizeOf(*parsed) * elements, " bytes");
}
