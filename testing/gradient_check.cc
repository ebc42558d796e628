// SPDX-License-Identifier: Apache-2.0
#include "testing/gradient_check.h"

#include <algorithm>
#include <cmath>

namespace octet::testing {

::testing::AssertionResult GradientMatches(
    absl::FunctionRef<double()> loss, absl::Span<double> x,
    absl::Span<const double> gradient, const GradientCheckOptions& options) {
  if (x.size() != gradient.size()) {
    return ::testing::AssertionFailure()
           << "x has " << x.size() << " elements, its gradient "
           << gradient.size();
  }
  double largest = 0.0;
  for (const double g : gradient) largest = std::max(largest, std::abs(g));
  if (!(largest > 0.0)) {
    return ::testing::AssertionFailure() << "the gradient is 0 everywhere";
  }
  const int64_t n = static_cast<int64_t>(x.size());
  const int64_t count = std::min(n, options.max_elements);
  for (int64_t c = 0; c < count; ++c) {
    const int64_t i = c * n / count;
    const double before = x[i];
    x[i] = before + options.step;
    const double up = loss();
    x[i] = before - options.step;
    const double down = loss();
    x[i] = before;
    const double difference = (up - down) / (2.0 * options.step);
    if (!(std::abs(difference - gradient[i]) <= options.tolerance * largest)) {
      return ::testing::AssertionFailure()
             << "element " << i << ": gradient " << gradient[i]
             << ", by differences " << difference << ", largest " << largest;
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace octet::testing
