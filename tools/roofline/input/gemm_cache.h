// SPDX-License-Identifier: Apache-2.0

// The file of --gemm_cache_filename, in which torchao's float8_roofline.py
// keeps the GEMM times that it measured: one JSON object,
//
//   {"512,1024,2048,True,row_major:col_major": [bf16 seconds, fp8 seconds]}
//
// by M, K, N, fast accumulation and how the bf16 operands lie; older ones have
// no word of the last.
#ifndef OCTET_TOOLS_ROOFLINE_INPUT_GEMM_CACHE_H_
#define OCTET_TOOLS_ROOFLINE_INPUT_GEMM_CACHE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "roofline/polynomial.h"

namespace octet::tools {

class GemmCache {
 public:
  struct Seconds {
    double bf16 = 0, fp8 = 0;
  };

  // NotFound if there is no such file; DataLoss names the product whose key or
  // times are none.
  static absl::StatusOr<GemmCache> Read(const std::string& path);

  // The sum of a linear layer's three products: the output by fast
  // accumulation, both gradients without. NotFound names the one that is not
  // there.
  absl::StatusOr<Seconds> Layer(const roofline::Sizes& sizes) const;

 private:
  std::string path_;
  std::map<std::string, Seconds> times_;
};

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_INPUT_GEMM_CACHE_H_
