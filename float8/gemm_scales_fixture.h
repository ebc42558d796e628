// SPDX-License-Identifier: Apache-2.0

// What tests of scaled products share: operands quantised on the host, so that
// nothing depends on the device's casts, and products in double.
#ifndef OCTET_FLOAT8_GEMM_SCALES_FIXTURE_H_
#define OCTET_FLOAT8_GEMM_SCALES_FIXTURE_H_

#include <cstdint>
#include <vector>

#include "base/tensor.h"
#include "float8/gemm.h"
#include "gtest/gtest.h"
#include "testing/test_device.h"

namespace octet::float8 {

class GemmScalesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OCTET_TEST_STREAM(stream);
    stream_ = stream;
  }

  bool IsGpu() const { return stream_.device().kind != DeviceKind::kCpu; }

  // Of the norm of an f32 result of random operands and k up to 640; see
  // gemm.h.
  double Tolerance(Accumulation accumulation = Accumulation::kPrecise) const;

  // In host memory, with outliers.
  static Tensor Random(const Shape& shape, uint64_t seed);
  Tensor OnDevice(const TensorView& host);

  // Bytes and scales on the device; no other form.
  Quantized Quantise(const TensorView& host, Granularity granularity,
                     ScaleRounding rounding, DType dtype);
  // Adds the forms that a GPU takes as they are, by their definition.
  void AddForms(Quantized* q);

  // q / scale in double.
  std::vector<double> Meaning(const Quantized& q);
  // a [m, k] b [n, k]^T from doubles.
  static Tensor Product(const std::vector<double>& a,
                        const std::vector<double>& b, int64_t m, int64_t n,
                        int64_t k);

  // f32, in host memory; into memory full of NaN.
  Tensor Run(const GemmOperand& a, const GemmOperand& b, int64_t m, int64_t n,
             const GemmOptions& options = {});

  Stream stream_;

 private:
  Tensor Reciprocals(const TensorView& scale, const Shape& shape,
                     bool is_flipped);
};

// The granularity whose tiles lie the other way.
Granularity Flipped(Granularity granularity);

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_GEMM_SCALES_FIXTURE_H_
