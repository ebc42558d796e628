// SPDX-License-Identifier: Apache-2.0

// Which word someone meant who misspelt it.
#ifndef OCTET_BASE_EDIT_DISTANCE_H_
#define OCTET_BASE_EDIT_DISTANCE_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace octet {

// Levenshtein's: insertions, deletions and replacements of one byte each.
int64_t EditDistance(absl::string_view a, absl::string_view b);

// Whether one may be a misspelling of the other: a third of the longer one's
// bytes differ at most.
bool IsNear(absl::string_view a, absl::string_view b);

}  // namespace octet

#endif  // OCTET_BASE_EDIT_DISTANCE_H_
