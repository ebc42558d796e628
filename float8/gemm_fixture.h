// SPDX-License-Identifier: Apache-2.0

// What the tests of gemm share: operands from formulas, and one call.
#ifndef OCTET_FLOAT8_GEMM_FIXTURE_H_
#define OCTET_FLOAT8_GEMM_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "base/tensor.h"
#include "float8/gemm.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {

inline constexpr DType kE4M3 = DType::kF8E4M3;
inline constexpr DType kE5M2 = DType::kF8E5M2;
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A tensor on the device, with the scales that its dtype needs (one, of 1).
struct Operand {
  Tensor data;
  Tensor scale;
  GemmOperand As(Transpose transpose = Transpose::kNo) const {
    GemmOperand operand = OperandOf(data.view(), transpose);
    if (IsFloat8(data.dtype())) operand.scale = scale;
    return operand;
  }
};

class GemmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OCTET_TEST_STREAM(stream);
    stream_ = stream;
  }

  Tensor Make(DType dtype, const Shape& shape,
              const std::vector<double>& values) {
    absl::StatusOr<Tensor> host = testing::FromDoubles(values, dtype, shape);
    EXPECT_THAT(host, testing::IsOk());
    absl::StatusOr<Tensor> device = testing::ToDevice(stream_, *host);
    EXPECT_THAT(device, testing::IsOk());
    return *std::move(device);
  }
  Tensor Filled(DType dtype, const Shape& shape, double value) {
    return Make(dtype, shape, std::vector<double>(shape.num_elements(), value));
  }
  Operand MakeOperand(DType dtype, int64_t rows, int64_t cols,
                      const std::function<double(int64_t, int64_t)>& f) {
    std::vector<double> values;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) values.push_back(f(i, j));
    }
    return {Make(dtype, Shape({rows, cols}), values),
            Filled(DType::kF32, Shape({1, 1}), 1.0)};
  }
  Operand Constant(DType dtype, int64_t rows, int64_t cols, double value) {
    return MakeOperand(dtype, rows, cols,
                       [value](int64_t, int64_t) { return value; });
  }
  std::vector<double> Values(const TensorView& device) {
    EXPECT_THAT(stream_.Synchronize(), testing::IsOk());
    absl::StatusOr<std::vector<double>> values = testing::ToDoubles(device);
    EXPECT_THAT(values, testing::IsOk());
    return *std::move(values);
  }
  // Into memory full of NaN, which must not be read.
  std::vector<double> Run(const GemmOperand& a, const GemmOperand& b, int64_t m,
                          int64_t n, const GemmOptions& options = {},
                          DType out_dtype = DType::kF32) {
    const Tensor out = Filled(out_dtype, Shape({m, n}), kNaN);
    EXPECT_THAT(Gemm(stream_, a, b, options, out), testing::IsOk());
    return Values(out);
  }

  Stream stream_;
};

// The matrices of case 41.
inline double A41(int64_t i, int64_t k) { return (i + 3 * k) % 5; }
inline double B41(int64_t k, int64_t n) { return (k + 2 * n) % 3; }

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_GEMM_FIXTURE_H_
