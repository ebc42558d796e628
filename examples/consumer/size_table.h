// SPDX-License-Identifier: Apache-2.0

// A program of another workspace: how many bytes a tensor takes in each type.
#ifndef CONSUMER_SIZE_TABLE_H_
#define CONSUMER_SIZE_TABLE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// "bf16: 8192 bytes" for 4096 elements; an error for a name that is no type.
absl::StatusOr<std::string> SizeLine(absl::string_view dtype, int64_t elements);

#endif  // CONSUMER_SIZE_TABLE_H_
