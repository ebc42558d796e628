// SPDX-License-Identifier: Apache-2.0

// Scaled operands against sums in double, for every granularity; and that the
// comparison can fail.

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "float8/gemm.h"
#include "float8/gemm_scales_fixture.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {
namespace {

using octet::testing::FromDoubles;
using octet::testing::IsNear;
using octet::testing::IsOk;
using octet::testing::RelativeError;
using octet::testing::ToDevice;
using octet::testing::ToDoubles;
using octet::testing::ToHost;
using ::testing::Each;
using ::testing::Not;

TEST_F(GemmScalesTest, EveryPairOfGranularities) {
  if (stream_.device().kind != DeviceKind::kCpu) {
    GTEST_SKIP() << "not every pair on a GPU";
  }
  constexpr int64_t kM = 130, kN = 35, kK = 291;
  const Tensor a = Random(Shape({kM, kK}), 1);
  const Tensor b = Random(Shape({kN, kK}), 2);
  const Tensor unquantised = Product(*ToDoubles(a), *ToDoubles(b), kM, kN, kK);
  const std::vector<Granularity> granularities = {
      Granularity::kTensor, Granularity::kRow, Granularity::kBlock1x128,
      Granularity::kBlock128x128, Granularity::kBlock1x32};
  for (const Granularity of_a : granularities) {
    for (const Granularity of_b : granularities) {
      for (const ScaleRounding rounding :
           {ScaleRounding::kExact, ScaleRounding::kPowerOfTwo}) {
        SCOPED_TRACE(
            absl::StrCat(Name(of_a), " ", Name(of_b), " ", Name(rounding)));
        const Quantized qa = Quantise(a, of_a, rounding, DType::kF8E5M2);
        const Quantized qb = Quantise(b, of_b, rounding, DType::kF8E4M3);
        const Tensor want = Product(Meaning(qa), Meaning(qb), kM, kN, kK);
        EXPECT_THAT(
            Run(OperandOf(qa), OperandOf(qb, Transpose::kYes), kM, kN).view(),
            IsNear(want, Tolerance()));
        // The quantised product is near the product, too: scales do not just
        // cancel between the two sides.
        EXPECT_THAT(want.view(), IsNear(unquantised, 0.12));
      }
    }
  }
}

// Operands stored the other way round, as wgrad has both.
TEST_F(GemmScalesTest, TransposedOperands) {
  if (stream_.device().kind != DeviceKind::kCpu) {
    GTEST_SKIP() << "not every granularity on a GPU";
  }
  constexpr int64_t kM = 67, kN = 130, kK = 515;
  const Tensor a_t = Random(Shape({kK, kM}), 3);
  const Tensor b_t = Random(Shape({kK, kN}), 4);
  const auto transposed = [](const std::vector<double>& x, int64_t rows,
                             int64_t cols) {
    std::vector<double> out(x.size());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) out[j * rows + i] = x[i * cols + j];
    }
    return out;
  };
  for (const Granularity g :
       {Granularity::kRow, Granularity::kBlock1x128, Granularity::kBlock1x32,
        Granularity::kBlock128x128}) {
    SCOPED_TRACE(Name(g));
    const Quantized qa =
        Quantise(a_t, Flipped(g), ScaleRounding::kExact, DType::kF8E4M3);
    const Quantized qb =
        Quantise(b_t, Flipped(g), ScaleRounding::kExact, DType::kF8E4M3);
    const Tensor want = Product(transposed(Meaning(qa), kK, kM),
                                transposed(Meaning(qb), kK, kN), kM, kN, kK);
    GemmOptions options;
    EXPECT_THAT(
        Run(OperandOf(qa, Transpose::kYes), OperandOf(qb), kM, kN).view(),
        IsNear(want, Tolerance()));
  }
}

// Case 35 (pytorch/pytorch#188996): a comparison by absolute error, or with a
// wrong scale on both sides, would let these pass.
TEST_F(GemmScalesTest, AWrongResultIsSeen) {
  constexpr int64_t kM = 32, kN = 48, kK = 64;
  const Tensor a = Random(Shape({kM, kK}), 5);
  const Tensor b = Random(Shape({kN, kK}), 6);
  const Quantized qa =
      Quantise(a, Granularity::kTensor, ScaleRounding::kExact, DType::kF8E4M3);
  const Quantized qb =
      Quantise(b, Granularity::kTensor, ScaleRounding::kExact, DType::kF8E4M3);
  const Tensor want = Product(Meaning(qa), Meaning(qb), kM, kN, kK);
  EXPECT_THAT(Run(OperandOf(qa), OperandOf(qb, Transpose::kYes), kM, kN).view(),
              IsNear(want, Tolerance()));

  const Tensor zeros =
      *FromDoubles(std::vector<double>(kM * kN), DType::kF32, Shape({kM, kN}));
  EXPECT_THAT(zeros.view(), Not(IsNear(want, Tolerance())));
  EXPECT_DOUBLE_EQ(RelativeError(zeros, want), 1.0);

  const double scale = (*ToDoubles(qa.scale))[0];
  const Tensor inverse = *ToDevice(
      stream_, *FromDoubles({1.0 / scale}, DType::kF32, Shape({1, 1})));
  GemmOperand swapped = OperandOf(qa);
  swapped.scale = inverse;
  EXPECT_THAT(Run(swapped, OperandOf(qb, Transpose::kYes), kM, kN).view(),
              Not(IsNear(want, Tolerance())));
}

// Case 33 (pytorch/pytorch#130059): swapped, they give 32 256 / 64 512.
TEST_F(GemmScalesTest, RowScalesKeepTheirSides) {
  std::vector<double> a(16 * 16), b(16 * 16), want(16 * 16);
  for (int64_t i = 0; i < 256; ++i) {
    a[i] = i / 16 < 8 ? 1.0 : 8.0;
    b[i] = i % 16 < 8 ? 2.0 : 4.0;
    want[i] = i / 16 < 8 ? (i % 16 < 8 ? 32 : 64) : (i % 16 < 8 ? 256 : 512);
  }
  const Tensor a_tensor = *FromDoubles(a, DType::kBf16, Shape({16, 16}));
  const Tensor b_tensor = *FromDoubles(b, DType::kBf16, Shape({16, 16}));
  const Quantized qa = Quantise(a_tensor, Granularity::kRow,
                                ScaleRounding::kExact, DType::kF8E4M3);
  const Quantized qb = Quantise(b_tensor, Granularity::kColumn,
                                ScaleRounding::kExact, DType::kF8E4M3);
  const Tensor out = Run(OperandOf(qa), OperandOf(qb), 16, 16);
  EXPECT_THAT(out.view(),
              IsNear(*FromDoubles(want, DType::kF64, Shape({16, 16})), 1e-6));
}

// Case 33 (pytorch/pytorch#133334): as many rows as no 256 divides, each with
// its own scale.
TEST_F(GemmScalesTest, RowScalesOfEveryRow) {
  constexpr int64_t kM = 272;
  std::vector<double> rows(kM * 16), want(kM * 16);
  for (int64_t i = 0; i < kM * 16; ++i) {
    rows[i] = i / 16 + 1;
    want[i] = 16.0 * rows[i];
  }
  const Tensor a = *FromDoubles(rows, DType::kF32, Shape({kM, 16}));
  const Tensor b = *FromDoubles(std::vector<double>(16 * 16, 1.0), DType::kF32,
                                Shape({16, 16}));
  const Quantized qa =
      Quantise(a, Granularity::kRow, ScaleRounding::kExact, DType::kF8E4M3);
  const Quantized qb =
      Quantise(b, Granularity::kColumn, ScaleRounding::kExact, DType::kF8E4M3);
  ASSERT_EQ(qa.scale.shape(), Shape({kM, 1}));
  const std::vector<double> got =
      *ToDoubles(Run(OperandOf(qa), OperandOf(qb), kM, 16));
  for (int64_t i = 0; i < kM * 16; ++i) {
    EXPECT_NEAR(got[i] / want[i], 1.0, 1e-6) << i;
  }
}

// Case 31 (pytorch/ao#4091): another granularity, the same scale.
TEST_F(GemmScalesTest, OneBlockIsTheTensor) {
  const Tensor a = Random(Shape({128, 128}), 7);
  const Tensor b = Random(Shape({128, 128}), 8);
  Quantized q[2][2];
  for (int i = 0; i < 2; ++i) {
    const Granularity g =
        i == 0 ? Granularity::kTensor : Granularity::kBlock128x128;
    q[i][0] = Quantise(a, g, ScaleRounding::kExact, DType::kF8E4M3);
    q[i][1] = Quantise(b, g, ScaleRounding::kExact, DType::kF8E4M3);
  }
  if (stream_.device().kind != DeviceKind::kCpu) {
    GTEST_SKIP() << "128x128 on both sides is no GPU mode";
  }
  EXPECT_THAT(Run(OperandOf(q[0][0]), OperandOf(q[0][1]), 128, 128).view(),
              octet::testing::BitwiseEq(
                  Run(OperandOf(q[1][0]), OperandOf(q[1][1]), 128, 128)));
}

// Case 32 (deepseek-ai/DeepGEMM#140): rows of i + 1 in a number that no block,
// vector or alignment divides.
TEST_F(GemmScalesTest, OddNumbersOfRows) {
  for (const int64_t m : {1, 3, 5, 33, 130}) {
    std::vector<double> values;
    for (int64_t i = 0; i < m * 256; ++i) values.push_back(i / 256 + 1);
    const Tensor a = *FromDoubles(values, DType::kBf16, Shape({m, 256}));
    const Tensor ones = *FromDoubles(std::vector<double>(16 * 256, 1.0),
                                     DType::kBf16, Shape({16, 256}));
    const Quantized qa = Quantise(a, Granularity::kBlock1x128,
                                  ScaleRounding::kExact, DType::kF8E4M3);
    EXPECT_EQ(qa.scale.shape(), Shape({m, 2}));
    const Quantized qb = Quantise(ones, Granularity::kBlock128x128,
                                  ScaleRounding::kExact, DType::kF8E4M3);
    const Tensor out =
        Run(OperandOf(qa), OperandOf(qb, Transpose::kYes), m, 16);
    const std::vector<double> got = *ToDoubles(out);
    for (int64_t i = 0; i < m * 16; ++i) {
      EXPECT_NEAR(got[i] / (256.0 * (i / 16 + 1)), 1.0, 0.0625) << i;
    }
  }
}

// Case 16 (pytorch/ao#4714, #3356). A tensor, row or block of zeros makes no
// NaN.
TEST_F(GemmScalesTest, ZerosStayZero) {
  const Tensor zeros = *FromDoubles(std::vector<double>(256 * 256),
                                    DType::kBf16, Shape({256, 256}));
  const Tensor b = Random(Shape({256, 256}), 9);
  for (const ScaleRounding rounding :
       {ScaleRounding::kExact, ScaleRounding::kPowerOfTwo,
        ScaleRounding::kE8m0}) {
    for (const Granularity g :
         {Granularity::kTensor, Granularity::kRow, Granularity::kBlock1x128}) {
      const Quantized qa = Quantise(zeros, g, rounding, DType::kF8E4M3);
      const Quantized qb = Quantise(b, g, rounding, DType::kF8E4M3);
      const Tensor out =
          Run(OperandOf(qa), OperandOf(qb, Transpose::kYes), 256, 256);
      EXPECT_THAT(*ToDoubles(out), Each(0.0));
    }
  }
}

// Power-of-two scales so far out that they must not be folded into bf16.
TEST_F(GemmScalesTest, ExtremePowersOfTwo) {
  const Tensor codes =
      *ToDevice(stream_, *FromDoubles(std::vector<double>(16 * 16, 1.0),
                                      DType::kF8E4M3, Shape({16, 16})));
  const Tensor large =
      *ToDevice(stream_, *FromDoubles({0x1p100}, DType::kF32, Shape({1, 1})));
  const Tensor small =
      *ToDevice(stream_, *FromDoubles({0x1p-100}, DType::kF32, Shape({1, 1})));
  GemmOperand a = OperandOf(codes.view()), b = OperandOf(codes.view());
  a.scale = large;
  b.scale = small;
  EXPECT_THAT(*ToDoubles(Run(a, b, 16, 16)), Each(16.0));
}

}  // namespace
}  // namespace octet::float8
