// SPDX-License-Identifier: Apache-2.0
#include "testing/memory_copy.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <vector>

#include "base/parallel.h"

namespace octet::testing {
namespace {

constexpr int64_t kGrain = 1 << 16;
constexpr double kSeconds = 0.2;

double Measure(int64_t bytes) {
  using Clock = std::chrono::steady_clock;
  const int64_t half = std::max<int64_t>(bytes / 2, 1);
  const std::vector<char> from(half, 1);
  std::vector<char> to(half, 2);
  double copies = 0.0;
  std::chrono::duration<double> took(0.0);
  const Clock::time_point start = Clock::now();
  while (copies < 3 || took.count() < kSeconds) {
    ParallelFor(half, kGrain, [&](int64_t first, int64_t last) {
      std::memcpy(to.data() + first, from.data() + first, last - first);
    });
    ++copies;
    took = Clock::now() - start;
  }
  return copies * 2.0 * static_cast<double>(half) / took.count();
}

}  // namespace

double MemoryCopyRate(int64_t bytes) {
  static auto* const rates = new std::map<int64_t, double>;
  const auto [entry, is_new] = rates->emplace(bytes, 0.0);
  if (is_new) entry->second = Measure(bytes);
  return entry->second;
}

}  // namespace octet::testing
