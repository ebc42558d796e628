// SPDX-License-Identifier: Apache-2.0
#include "io/checksum.h"

#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "io/file.h"

namespace octet::io {
namespace {

constexpr uint64_t kPrime[5] = {0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F,
                                0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                                0x27D4EB2F165667C5};
constexpr int64_t kStripe = 32;

uint64_t RotateLeft(uint64_t x, int bits) {
  return x << bits | x >> (64 - bits);
}

// Little endian, as every machine that Octet runs on.
template <typename T>
uint64_t Load(const uint8_t* data) {
  T value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

uint64_t Round(uint64_t lane, uint64_t input) {
  return RotateLeft(lane + input * kPrime[1], 31) * kPrime[0];
}

void UpdateLanes(const uint8_t* stripe, std::array<uint64_t, 4>* lanes) {
  for (int i = 0; i < 4; ++i) {
    (*lanes)[i] = Round((*lanes)[i], Load<uint64_t>(stripe + 8 * i));
  }
}

}  // namespace

Checksum::Checksum()
    : lanes_{kPrime[0] + kPrime[1], kPrime[1], 0, 0 - kPrime[0]} {}

void Checksum::Update(const void* data, int64_t bytes) {
  const uint8_t* next = static_cast<const uint8_t*>(data);
  const int64_t held = total_ % kStripe;
  total_ += bytes;
  if (held > 0) {
    const int64_t count = std::min(bytes, kStripe - held);
    std::copy_n(next, count, pending_.begin() + held);
    next += count;
    bytes -= count;
    if (held + count < kStripe) return;
    UpdateLanes(pending_.data(), &lanes_);
  }
  // In registers: through `this` they would go to memory each time.
  std::array<uint64_t, 4> lanes = lanes_;
  for (; bytes >= kStripe; bytes -= kStripe, next += kStripe) {
    UpdateLanes(next, &lanes);
  }
  lanes_ = lanes;
  std::copy_n(next, bytes, pending_.begin());
}

uint64_t Checksum::value() const {
  uint64_t h = kPrime[4];
  if (total_ >= kStripe) {
    h = RotateLeft(lanes_[0], 1) + RotateLeft(lanes_[1], 7) +
        RotateLeft(lanes_[2], 12) + RotateLeft(lanes_[3], 18);
    for (const uint64_t lane : lanes_) {
      h = (h ^ Round(0, lane)) * kPrime[0] + kPrime[3];
    }
  }
  h += total_;
  const uint8_t* next = pending_.data();
  int64_t bytes = total_ % kStripe;
  for (; bytes >= 8; bytes -= 8, next += 8) {
    h = RotateLeft(h ^ Round(0, Load<uint64_t>(next)), 27) * kPrime[0] +
        kPrime[3];
  }
  for (; bytes >= 4; bytes -= 4, next += 4) {
    h = RotateLeft(h ^ Load<uint32_t>(next) * kPrime[0], 23) * kPrime[1] +
        kPrime[2];
  }
  for (; bytes > 0; --bytes, ++next) {
    h = RotateLeft(h ^ *next * kPrime[4], 11) * kPrime[0];
  }
  h = (h ^ h >> 33) * kPrime[1];
  h = (h ^ h >> 29) * kPrime[2];
  return h ^ h >> 32;
}

absl::StatusOr<uint64_t> ChecksumFile(const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  Checksum checksum;
  checksum.Update(file.data(), file.size());
  return checksum.value();
}

}  // namespace octet::io
