// SPDX-License-Identifier: Apache-2.0

// Stochastic rounding to bf16, with the bits of train/adamw_rounding.h:
// elements 8 i to 8 i + 7 take the halves of the words of counter 3 i for
// masters, 3 i + 1 for m and 3 i + 2 for v.
#ifndef OCTET_TRAIN_CUDA_ROUNDING_CUH_
#define OCTET_TRAIN_CUDA_ROUNDING_CUH_

#include <cstdint>

namespace octet::train::internal {

inline constexpr int kPhiloxRounds = 10;

// The keys of all rounds, which depend on the seed alone.
struct PhiloxKeys {
  uint32_t keys[2 * kPhiloxRounds];
};

inline PhiloxKeys PhiloxKeysOf(uint64_t seed) {
  PhiloxKeys out;
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const auto times = static_cast<uint32_t>(round);
    out.keys[2 * round] = static_cast<uint32_t>(seed) + times * 0x9E3779B9u;
    out.keys[2 * round + 1] =
        static_cast<uint32_t>(seed >> 32) + times * 0xBB67AE85u;
  }
  return out;
}

// Philox::Words(counter) of a stream.
__device__ __forceinline__ uint4 PhiloxWords(const PhiloxKeys& keys,
                                             uint64_t stream,
                                             uint64_t counter) {
  uint4 c = {
      static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
      static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
#pragma unroll
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(0xD2511F53u) * c.x;
    const uint64_t p1 = static_cast<uint64_t>(0xCD9E8D57u) * c.z;
    c = {static_cast<uint32_t>(p1 >> 32) ^ c.y ^ keys.keys[2 * round],
         static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c.w ^ keys.keys[2 * round + 1],
         static_cast<uint32_t>(p0)};
  }
  return c;
}

// The upper half is the bf16; `random` is below 2^16. A NaN must be the one
// below, whose bits the sum does not carry over.
__device__ __forceinline__ uint32_t RoundedBits(float x, uint32_t random) {
  return __float_as_uint(x) + random;
}
__device__ __forceinline__ float PlainNan(float x) {
  return isnan(x) ? __uint_as_float(0x7fc00000u) : x;
}

}  // namespace octet::train::internal

#endif  // OCTET_TRAIN_CUDA_ROUNDING_CUH_
