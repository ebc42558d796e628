// SPDX-License-Identifier: Apache-2.0

// Stochastic rounding of AdamW's bf16 states: the reference of all devices.
#ifndef OCTET_TRAIN_ADAMW_ROUNDING_H_
#define OCTET_TRAIN_ADAMW_ROUNDING_H_

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"
#include "base/float16.h"
#include "base/philox.h"

namespace octet::train::internal {

// The name's part of a parameter's random stream: FNV-1a.
inline uint64_t RoundingKey(absl::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

// Philox's stream for one parameter and step, mixed as SplitMix64 does.
// Elements 2 i and 2 i + 1 of the whole parameter take the low and the high
// halves of the words of counter i: of word 0 for the master, 1 for m, 2 for v.
inline uint64_t RoundingStream(uint64_t key, int64_t step) {
  uint64_t z = key + static_cast<uint64_t>(step) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

// To one of the two bf16 around x, the further one with the probability that is
// x's distance from the other: random is uniform below 2^16. Exact values,
// infinity and NaN stay.
inline Bfloat16 RoundStochastically(float x, uint32_t random) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return {static_cast<uint16_t>((bits + (x != x ? 0u : random)) >> 16)};
}

}  // namespace octet::train::internal

#endif  // OCTET_TRAIN_ADAMW_ROUNDING_H_
