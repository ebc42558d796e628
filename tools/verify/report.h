// SPDX-License-Identifier: Apache-2.0

// What a comparison with reference values found, tensor by tensor.
#ifndef OCTET_TOOLS_VERIFY_REPORT_H_
#define OCTET_TOOLS_VERIFY_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/tensor.h"

namespace octet::tools {

struct VerifyItem {
  std::string name;
  double error = 0.0;  // NaN never passes
  double tolerance = 0.0;
  // "relative", "absolute", or "of the bytes": what the error is.
  std::string unit = "relative";

  bool Passed() const { return error <= tolerance; }
};

struct VerifyReport {
  std::string path;
  std::vector<VerifyItem> items;

  // False too for a report without items: nothing was compared.
  bool Passed() const;
};

// |a - b| / |b|, Frobenius norms, of host tensors of f32 or bf16; NaN if
// shapes differ or either holds a NaN.
double RelativeError(const TensorView& a, const TensorView& b);

// One line of verdict, then the items of the largest error for their tolerance:
// the first `lines` of them, and all that failed.
std::string Format(const VerifyReport& report, int64_t lines);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_VERIFY_REPORT_H_
