// SPDX-License-Identifier: Apache-2.0

// What a program outside of Octet makes of one of its libraries: numbers packed
// as float8 with one scale.
#ifndef CONSUMER_PACKED_H_
#define CONSUMER_PACKED_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

// value = float8(bytes[i]) / scale
struct Packed {
  std::vector<uint8_t> bytes;  // e4m3
  float scale;
};

absl::StatusOr<Packed> Pack(absl::Span<const float> values);

#endif  // CONSUMER_PACKED_H_
