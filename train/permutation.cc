// SPDX-License-Identifier: Apache-2.0

#include "train/permutation.h"

namespace octet::train {
namespace {

// Four rounds are the least that is indistinguishable from random; two more
// cost nothing here and help the smallest domains.
constexpr int kRounds = 6;

int HalfBits(int64_t n) {
  int bits = 1;
  while ((int64_t{1} << (2 * bits)) < n) ++bits;
  return bits;
}

}  // namespace

Permutation::Permutation(uint64_t seed, uint64_t round, int64_t n)
    : philox_(seed, round), n_(n), half_bits_(HalfBits(n)) {}

uint64_t Permutation::Encrypt(uint64_t x) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = x >> half_bits_;
  uint64_t right = x & mask;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const uint64_t mixed = philox_.Words((round << 32) | right)[0];
    const uint64_t next = left ^ (mixed & mask);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

int64_t Permutation::operator()(int64_t i) const {
  uint64_t x = i;
  do {
    x = Encrypt(x);
  } while (x >= static_cast<uint64_t>(n_));
  return x;
}

}  // namespace octet::train
