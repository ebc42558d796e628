// SPDX-License-Identifier: Apache-2.0

// Stochastic rounding of AdamW's bf16 states: the reference of all devices.
#ifndef OCTET_TRAIN_ADAMW_ROUNDING_H_
#define OCTET_TRAIN_ADAMW_ROUNDING_H_

#include <array>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"
#include "base/float16.h"

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
inline uint64_t RoundingStream(uint64_t key, int64_t step) {
  uint64_t z = key + static_cast<uint64_t>(step) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

// The states of an element, each with random bits of its own.
inline constexpr int kMasterState = 0;
inline constexpr int kMState = 1;
inline constexpr int kVState = 2;
inline constexpr int kStates = 3;

// Elements 8 i to 8 i + 7 of the whole parameter take the halves of the words
// of this counter, low before high.
inline constexpr uint64_t kGroup = 8;
inline uint64_t RoundingCounter(uint64_t element, int state) {
  return element / kGroup * kStates + static_cast<uint64_t>(state);
}
inline uint32_t RoundingBits(const std::array<uint32_t, 4>& words,
                             uint64_t element) {
  const uint32_t word = words[element % kGroup / 2];
  return element % 2 == 0 ? word & 0xffffu : word >> 16;
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
