// SPDX-License-Identifier: Apache-2.0

// A random order of [0, n) that needs no memory: element i in O(1).
//
// A Feistel network of Philox rounds permutes the smallest even power of two
// that covers n; results past n are permuted again until they fall below it
// (cycle walking), which keeps it a bijection. A pure function of (seed, round,
// n, i): any rank, and any resumed run, gets the same order.
#ifndef OCTET_TRAIN_PERMUTATION_H_
#define OCTET_TRAIN_PERMUTATION_H_

#include <cstdint>

#include "base/philox.h"

namespace octet::train {

class Permutation {
 public:
  // `round` tells several orders under one seed apart; 0 < n < 2^62.
  Permutation(uint64_t seed, uint64_t round, int64_t n);

  int64_t size() const { return n_; }
  // 0 <= i < size().
  int64_t operator()(int64_t i) const;

 private:
  uint64_t Encrypt(uint64_t x) const;

  Philox philox_;
  int64_t n_;
  int half_bits_;
};

}  // namespace octet::train

#endif  // OCTET_TRAIN_PERMUTATION_H_
