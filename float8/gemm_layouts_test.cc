// SPDX-License-Identifier: Apache-2.0

// Any shape, any layout.

#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "float8/gemm.h"
#include "float8/gemm_fixture.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::float8 {
namespace {

using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

// The matrix whose transpose this is, used as itself or transposed.
GemmOperand FromTransposed(const Operand& of,
                           Transpose transpose = Transpose::kNo) {
  GemmOperand operand;
  operand.transposed = of.data;
  operand.scale = of.scale;
  operand.transpose = transpose;
  return operand;
}

// Case 41 (pytorch/pytorch#198126) and case 42 (pranjalssh/fast.cu#14). Both
// operands are given by rows and by columns, so that all four combinations of
// transposes are the same product.
TEST_F(GemmTest, EveryLayoutOfEveryDType) {
  struct Size {
    int64_t m, n, k;
  };
  for (const DType dtype : {kE4M3, DType::kBf16, DType::kF32}) {
    for (const Size s :
         {Size{32, 64, 48}, Size{16, 48, 32}, Size{48, 16, 32}}) {
      std::vector<double> want(s.m * s.n, 0.0);
      for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t j = 0; j < s.n; ++j) {
          for (int64_t k = 0; k < s.k; ++k) {
            want[i * s.n + j] += A41(i, k) * B41(k, j);
          }
        }
      }
      const Operand a = MakeOperand(dtype, s.m, s.k, A41);
      const Operand b = MakeOperand(dtype, s.k, s.n, B41);
      const auto flip = [](double (*f)(int64_t, int64_t)) {
        return [f](int64_t i, int64_t j) { return f(j, i); };
      };
      const Operand a_t = MakeOperand(dtype, s.k, s.m, flip(A41));
      const Operand b_t = MakeOperand(dtype, s.n, s.k, flip(B41));
      for (const DType out : {DType::kF32, DType::kBf16, DType::kF16}) {
        SCOPED_TRACE(absl::StrCat(Name(dtype), " ", s.m, " ", s.n, " ", s.k));
        EXPECT_EQ(Run(a.As(), b.As(), s.m, s.n, {}, out), want);
        EXPECT_EQ(Run(a.As(), b_t.As(Transpose::kYes), s.m, s.n, {}, out),
                  want);
        EXPECT_EQ(Run(a_t.As(Transpose::kYes), b.As(), s.m, s.n, {}, out),
                  want);
        EXPECT_EQ(Run(a_t.As(Transpose::kYes), b_t.As(Transpose::kYes), s.m,
                      s.n, {}, out),
                  want);
        if (dtype != kE4M3) continue;
        // The same matrices, known by their transposes alone.
        EXPECT_EQ(
            Run(FromTransposed(a_t), FromTransposed(b_t), s.m, s.n, {}, out),
            want);
        EXPECT_EQ(Run(FromTransposed(a, Transpose::kYes),
                      FromTransposed(b, Transpose::kYes), s.m, s.n, {}, out),
                  want);
      }
      if (s.m != 32) continue;
      EXPECT_EQ(want[0], 95);
      EXPECT_EQ(want[1 * 64 + 2], 99);
      EXPECT_EQ(want[5 * 64 + 17], 96);
      EXPECT_EQ(want[31 * 64 + 63], 98);
      EXPECT_EQ(std::accumulate(want.begin(), want.end(), 0.0), 196546);
    }
  }
}

// Case 36 (pytorch/ao#1268, #571, #4106), and the ones of case 35.
TEST_F(GemmTest, AnySize) {
  struct Size {
    int64_t m, n, k;
  };
  for (const Size s :
       {Size{2, 15, 32}, Size{2, 32, 15}, Size{1, 512, 256}, Size{50, 64, 4096},
        Size{16, 16, 17}, Size{1, 1, 1}, Size{128, 128, 128}}) {
    for (const DType dtype : {kE4M3, DType::kBf16, DType::kF32}) {
      const Operand a = Constant(dtype, s.m, s.k, 1.0);
      const Operand b = Constant(dtype, s.k, s.n, 1.0);
      EXPECT_THAT(Run(a.As(), b.As(), s.m, s.n), Each(s.k));
    }
  }
}

// Case 39 (pytorch/pytorch#140967, #192709).
TEST_F(GemmTest, EmptySizes) {
  const Operand none = Constant(kE4M3, 0, 32, 1.0);
  const Operand b = Constant(kE4M3, 32, 16, 1.0);
  EXPECT_TRUE(Run(none.As(), b.As(), 0, 16).empty());
  EXPECT_TRUE(Run(b.As(Transpose::kYes), none.As(Transpose::kYes), 16, 0, {},
                  DType::kF32)
                  .empty());
  const Operand square = Constant(kE4M3, 32, 32, 1.0);
  EXPECT_TRUE(
      Run(square.As(), none.As(Transpose::kYes), 32, 0, {}, DType::kBf16)
          .empty());

  const Operand thin = Constant(kE4M3, 32, 0, 1.0);
  const Operand flat = Constant(kE4M3, 0, 16, 1.0);
  EXPECT_THAT(Run(thin.As(), flat.As(), 32, 16), Each(0.0));
  const Tensor bias = Filled(DType::kF32, Shape({16}), 0.5);
  GemmOptions options;
  options.bias = bias;
  EXPECT_THAT(Run(thin.As(), flat.As(), 32, 16, options), Each(0.5));
  options.beta = 2.0f;
  const Tensor out = Filled(DType::kBf16, Shape({32, 16}), 3.0);
  ASSERT_THAT(Gemm(stream_, thin.As(), flat.As(), options, out), IsOk());
  EXPECT_THAT(Values(out), Each(6.5));
}

// Case 42 (NVIDIA/cutlass#2991): a matrix inside a larger one, at an odd
// address.
TEST_F(GemmTest, LeadingDimensions) {
  for (const DType dtype : {kE4M3, DType::kBf16, DType::kF32}) {
    const Operand whole = MakeOperand(dtype, 6, 40, [](int64_t i, int64_t j) {
      return j >= 3 && j < 35 ? A41(i, j - 3) : kNaN;
    });
    const Operand b = MakeOperand(dtype, 32, 7, B41);
    GemmOperand a = whole.As();
    a.data = TensorView(whole.data.as<char>() + 3 * SizeOf(dtype), dtype,
                        Shape({6, 32}), stream_.device());
    a.leading_dim = 40;
    std::vector<double> want(6 * 7, 0.0);
    for (int64_t i = 0; i < 42; ++i) {
      for (int64_t k = 0; k < 32; ++k) want[i] += A41(i / 7, k) * B41(k, i % 7);
    }
    EXPECT_EQ(Run(a, b.As(), 6, 7), want);
    // And as b, transposed: out^T = b^T a^T.
    a.transpose = Transpose::kYes;
    std::vector<double> transposed(7 * 6);
    for (int64_t i = 0; i < 42; ++i) transposed[i % 7 * 6 + i / 7] = want[i];
    EXPECT_EQ(Run(b.As(Transpose::kYes), a, 7, 6), transposed);
  }
}

// Case 44 (flagos-ai/FlagGems#4471, pytorch/pytorch#98975): operands 8 bytes
// into a buffer.
TEST_F(GemmTest, UnalignedViews) {
  for (const DType dtype : {kE4M3, DType::kBf16, DType::kF32}) {
    const int64_t skipped = 8 / SizeOf(dtype);
    const auto shifted = [&](int64_t rows, int64_t cols,
                             double (*f)(int64_t, int64_t)) {
      return MakeOperand(
          dtype, 1, skipped + rows * cols, [=](int64_t, int64_t i) {
            return i < skipped ? kNaN
                               : f((i - skipped) / cols, (i - skipped) % cols);
          });
    };
    const Operand a_buffer = shifted(32, 48, A41);
    const Operand b_buffer = shifted(48, 64, B41);
    GemmOperand a = a_buffer.As(), b = b_buffer.As();
    a.data = TensorView(a_buffer.data.as<char>() + 8, dtype, Shape({32, 48}),
                        stream_.device());
    b.data = TensorView(b_buffer.data.as<char>() + 8, dtype, Shape({48, 64}),
                        stream_.device());
    const std::vector<double> got = Run(a, b, 32, 64);
    EXPECT_EQ(got[5 * 64 + 17], 96);
    EXPECT_EQ(std::accumulate(got.begin(), got.end(), 0.0), 196546);
  }
}

// Case 44: where there is one row, how far apart rows are says nothing.
TEST_F(GemmTest, OneRowOfAnyLeadingDimension) {
  for (const DType dtype : {kE4M3, DType::kBf16, DType::kF32}) {
    const Operand row = Constant(dtype, 1, 32, 1.0);
    const Operand b = Constant(dtype, 32, 16, 2.0);
    const Operand column = Constant(dtype, 32, 1, 1.0);
    for (const int64_t leading_dim : {0, 32, 40, 1 << 20}) {
      GemmOperand a = row.As();
      a.leading_dim = leading_dim;
      EXPECT_THAT(Run(a, b.As(), 1, 16), Each(64.0)) << leading_dim;
    }
    // A stride of 1 on both sides.
    GemmOperand a = column.As(Transpose::kYes);
    a.leading_dim = 1;
    EXPECT_THAT(Run(a, b.As(), 1, 16), Each(64.0));
  }
}

// Case 50 (deepseek-ai/DeepGEMM#226): sizes past 2^31 are checked in 64 bits.
TEST_F(GemmTest, SizesPastThirtyTwoBits) {
  const Shape shape({65536, 32784});
  EXPECT_EQ(shape.num_elements(), 2148532224);
  EXPECT_EQ(
      TensorView(nullptr, DType::kBf16, shape, stream_.device()).num_bytes(),
      4297064448);
  const Operand a = Constant(kE4M3, 65536, 16, 1.0);
  const Operand b = Constant(kE4M3, 32784, 16, 1.0);
  const TensorView narrow(a.data.view().data(), DType::kF32,
                          Shape({65536, 32783}), stream_.device());
  EXPECT_THAT(Gemm(stream_, a.As(), b.As(Transpose::kYes), {}, narrow),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("[65536, 32783]"),
                             HasSubstr("must be [65536, 32784]"))));
}

// Case 50 at its size: 4.3 GB.
TEST_F(GemmTest, FullSizePastThirtyTwoBits) {
  if (stream_.device().kind == DeviceKind::kCpu) {
    GTEST_SKIP() << "4.3 GB, and minutes";
  }
  const Operand a = Constant(kE4M3, 65536, 16, 1.0);
  const Operand b = Constant(kE4M3, 32784, 16, 1.0);
  const Tensor out =
      *Tensor::Zeros(stream_, DType::kBf16, Shape({65536, 32784}));
  ASSERT_THAT(Gemm(stream_, a.As(), b.As(Transpose::kYes), {}, out), IsOk());
  for (const int64_t row : {0, 65501, 65535}) {
    EXPECT_THAT(Values(out.view().RowSlice(row, 1)), Each(16.0)) << row;
  }
}

}  // namespace
}  // namespace octet::float8
