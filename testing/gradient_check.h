// SPDX-License-Identifier: Apache-2.0

// Compares a gradient with central differences, in double.
#ifndef OCTET_TESTING_GRADIENT_CHECK_H_
#define OCTET_TESTING_GRADIENT_CHECK_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace octet::testing {

struct GradientCheckOptions {
  double step = 1e-5;
  // Of the largest difference, relative to the largest element of the gradient.
  double tolerance = 1e-7;
  // At most so many elements are tried, evenly spread.
  int64_t max_elements = 200;
};

// `loss` reads x, whose elements are moved one by one and put back. Fails if
// the gradient is wrong, or is 0 everywhere: then nothing was checked.
::testing::AssertionResult GradientMatches(
    absl::FunctionRef<double()> loss, absl::Span<double> x,
    absl::Span<const double> gradient,
    const GradientCheckOptions& options = {});

}  // namespace octet::testing

#endif  // OCTET_TESTING_GRADIENT_CHECK_H_
