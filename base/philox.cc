// SPDX-License-Identifier: Apache-2.0
#include "base/philox.h"

#include <cmath>

namespace octet {

std::array<uint32_t, 4> Philox::Words(uint64_t counter) const {
  constexpr uint32_t kMultiplier[2] = {0xD2511F53, 0xCD9E8D57};
  constexpr uint32_t kWeyl[2] = {0x9E3779B9, 0xBB67AE85};
  std::array<uint32_t, 4> c = {
      static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
      static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)};
  uint32_t k0 = static_cast<uint32_t>(seed_);
  uint32_t k1 = static_cast<uint32_t>(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(kMultiplier[0]) * c[0];
    const uint64_t p1 = static_cast<uint64_t>(kMultiplier[1]) * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1,
         static_cast<uint32_t>(p0)};
    k0 += kWeyl[0];
    k1 += kWeyl[1];
  }
  return c;
}

float Philox::Uniform(uint64_t i) const {
  return static_cast<float>(Words(i / 4)[i % 4] >> 8) * 0x1p-24f;
}

std::array<float, 2> Philox::NormalPair(uint64_t i) const {
  const std::array<uint32_t, 4> w = Words(i);
  // (0, 1], so that the logarithm is finite.
  const double u = (static_cast<double>(w[0]) + 1.0) * 0x1p-32;
  const double angle = 2.0 * M_PI * static_cast<double>(w[1]) * 0x1p-32;
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {static_cast<float>(radius * std::cos(angle)),
          static_cast<float>(radius * std::sin(angle))};
}

float Philox::Normal(uint64_t i) const { return NormalPair(i / 2)[i % 2]; }

uint64_t Philox::Below(uint64_t i, uint64_t n) const {
  const std::array<uint32_t, 4> w = Words(i);
  const uint64_t x = static_cast<uint64_t>(w[1]) << 32 | w[0];
  return static_cast<uint64_t>(static_cast<unsigned __int128>(x) * n >> 64);
}

}  // namespace octet
