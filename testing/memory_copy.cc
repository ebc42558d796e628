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
  double best = 0.0;
  const Clock::time_point start = Clock::now();
  for (int i = 0;
       i < 3 || Clock::now() - start < std::chrono::duration<double>(kSeconds);
       ++i) {
    const Clock::time_point begin = Clock::now();
    ParallelFor(half, kGrain, [&](int64_t first, int64_t last) {
      std::memcpy(to.data() + first, from.data() + first, last - first);
    });
    const std::chrono::duration<double> took = Clock::now() - begin;
    best = std::max(best, 2.0 * static_cast<double>(half) / took.count());
  }
  return best;
}

}  // namespace

double MemoryCopyRate(int64_t bytes) {
  static auto* const rates = new std::map<int64_t, double>;
  const auto [entry, is_new] = rates->emplace(bytes, 0.0);
  if (is_new) entry->second = Measure(bytes);
  return entry->second;
}

}  // namespace octet::testing
