// SPDX-License-Identifier: Apache-2.0

// Counter-based random numbers: Philox 4x32 with 10 rounds.
//
//   J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
//   2011.
//
// Element i of stream s under a seed is a pure function of (seed, s, i), so any
// part of a tensor can be made on any rank, in any order, with the same bits.
#ifndef OCTET_BASE_PHILOX_H_
#define OCTET_BASE_PHILOX_H_

#include <array>
#include <cstdint>

namespace octet {

class Philox {
 public:
  Philox(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

  // Four independent 32-bit words for each counter.
  std::array<uint32_t, 4> Words(uint64_t counter) const;

  // Uniform in [0, 1), 24 bits; element i.
  float Uniform(uint64_t i) const;

  // Standard normal, by the Box-Muller transform in double; element i.
  float Normal(uint64_t i) const;
  // Elements 2 i and 2 i + 1, in half the time that they take one by one.
  std::array<float, 2> NormalPair(uint64_t i) const;

  // Uniform in [0, n), n > 0; element i. Bias below n / 2^64.
  uint64_t Below(uint64_t i, uint64_t n) const;

 private:
  uint64_t seed_;
  uint64_t stream_;
};

}  // namespace octet

#endif  // OCTET_BASE_PHILOX_H_
