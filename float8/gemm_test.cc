// SPDX-License-Identifier: Apache-2.0

// Epilogues, sums and refusals. Shapes and layouts: gemm_layouts_test; scales
// along k: gemm_scales_test.

#include "float8/gemm.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

// Case 40 (pytorch/pytorch#132005): refused on the CPU, too.
TEST_F(GemmTest, FormatsMix) {
  const Operand e4m3 = Constant(kE4M3, 16, 16, 1.0);
  const Operand e5m2 = Constant(kE5M2, 16, 16, 1.0);
  EXPECT_THAT(Run(e4m3.As(), e5m2.As(), 16, 16), Each(16.0));
  EXPECT_THAT(Run(e5m2.As(), e4m3.As(), 16, 16), Each(16.0));
  const Tensor out = Filled(DType::kF32, Shape({16, 16}), 7.0);
  EXPECT_THAT(
      Gemm(stream_, e5m2.As(), e5m2.As(), {}, out),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f8_e5m2")));
  EXPECT_THAT(Values(out), Each(7.0));
}

// Case 48 (deepseek-ai/DeepGEMM#37, #50): small terms beside a large one, all
// within f32. A tensor core loses those that share its register with the large
// one: 128 products, or all of k if it may be fast, which so is seen to arrive.
TEST_F(GemmTest, SumsOfSmallTermsBesideALargeOne) {
  for (const auto& [k, exact] : {std::pair<int64_t, double>{32, 200735},
                                 std::pair<int64_t, double>{256, 200959}}) {
    const auto f = [](int64_t, int64_t i) { return i == 0 ? 448.0 : 1.0; };
    const Operand a = MakeOperand(kE4M3, 16, k, f);
    const Operand b = MakeOperand(kE4M3, 16, k, f);
    GemmOptions fast;
    fast.accumulation = Accumulation::kFast;
    const auto precise_sums = Run(a.As(), b.As(Transpose::kYes), 16, 16);
    const auto fast_sums = Run(a.As(), b.As(Transpose::kYes), 16, 16, fast);
    if (stream_.device().kind == DeviceKind::kCpu) {
      EXPECT_THAT(precise_sums, Each(exact));
      EXPECT_THAT(fast_sums, Each(exact));
    } else {
      EXPECT_THAT(precise_sums, Each(::testing::DoubleNear(exact, 127)));
      EXPECT_THAT(fast_sums, Each(::testing::DoubleNear(exact, k - 1)));
      EXPECT_EQ(precise_sums[0] > fast_sums[0], k > 128);
    }
    EXPECT_THAT(Run(a.As(), b.As(Transpose::kYes), 16, 16, {}, DType::kBf16),
                Each(200704.0));
  }
}

// Case 45 (pytorch/pytorch#108097, #190538).
TEST_F(GemmTest, BiasOfEveryDType) {
  for (const DType of_operands : {kE4M3, DType::kBf16, DType::kF32}) {
    const Operand a = Constant(of_operands, 16, 32, 1.0);
    const Operand b = Constant(of_operands, 32, 16, 1.0);
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
      const Tensor bias = Filled(dtype, Shape({16}), 0.25);
      GemmOptions options;
      options.bias = bias;
      for (const DType out : {DType::kF32, DType::kBf16, DType::kF16}) {
        SCOPED_TRACE(absl::StrCat(Name(of_operands), " bias ", Name(dtype),
                                  " out ", Name(out)));
        EXPECT_THAT(Run(a.As(), b.As(), 16, 16, options, out), Each(32.25));
      }
    }
  }
}

TEST_F(GemmTest, BiasGoesByColumn) {
  const Operand a = Constant(DType::kF32, 2, 3, 0.0);
  const Operand b = Constant(DType::kF32, 3, 3, 0.0);
  const Tensor bias = Make(DType::kF32, Shape({3}), {1, 2, 3});
  GemmOptions options;
  options.bias = bias;
  EXPECT_EQ(Run(a.As(), b.As(), 2, 3, options),
            (std::vector<double>{1, 2, 3, 1, 2, 3}));
}

TEST_F(GemmTest, AlphaAndBeta) {
  for (const DType dtype : {kE4M3, DType::kBf16, DType::kF32}) {
    const Operand a = Constant(dtype, 16, 32, 1.0);
    const Operand b = Constant(dtype, 32, 48, 2.0);
    for (const DType out_dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
      const Tensor out = Filled(out_dtype, Shape({16, 48}), 5.0);
      GemmOptions options;
      options.beta = 1.0f;
      ASSERT_THAT(Gemm(stream_, a.As(), b.As(), options, out), IsOk());
      EXPECT_THAT(Values(out), Each(69.0));
      options.alpha = 0.5f;
      options.beta = -1.0f;
      ASSERT_THAT(Gemm(stream_, a.As(), b.As(), options, out), IsOk());
      EXPECT_THAT(Values(out), Each(32.0 - 69.0));
    }
  }
}

TEST_F(GemmTest, NaNReachesItsRowOnly) {
  const Operand a = MakeOperand(kE4M3, 3, 32, [](int64_t i, int64_t k) {
    return i == 1 && k == 30 ? kNaN : 1.0;
  });
  const Operand b = Constant(kE4M3, 32, 4, 1.0);
  const std::vector<double> got = Run(a.As(), b.As(), 3, 4);
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(std::isnan(got[i]), i / 4 == 1) << i;
  }
}

TEST_F(GemmTest, SameBitsEveryTime) {
  const auto f = [](int64_t i, int64_t k) { return std::sin(i * 100.0 + k); };
  for (const DType dtype : {kE4M3, DType::kBf16, DType::kF32}) {
    const Operand a = MakeOperand(dtype, 130, 515, f);
    const Operand b = MakeOperand(dtype, 515, 67, f);
    const std::vector<double> first = Run(a.As(), b.As(), 130, 67);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(Run(a.As(), b.As(), 130, 67), first);
    }
  }
}

TEST_F(GemmTest, F64) {
  const Operand a = MakeOperand(DType::kF64, 3, 4, [](int64_t i, int64_t k) {
    return 1.0 + 1e-12 * (i * 4 + k);
  });
  const Operand b = Constant(DType::kF64, 5, 4, 1.0);
  const std::vector<double> got =
      Run(a.As(), b.As(Transpose::kYes), 3, 5, {}, DType::kF64);
  EXPECT_DOUBLE_EQ(got[0], 4.0 + 6e-12);
  EXPECT_DOUBLE_EQ(got[14], 4.0 + 38e-12);
  const Tensor out = Filled(DType::kF64, Shape({3, 5}), 1.0);
  GemmOptions options;
  options.beta = 1.0f;
  ASSERT_THAT(Gemm(stream_, a.As(), b.As(Transpose::kYes), options, out),
              IsOk());
  EXPECT_DOUBLE_EQ(Values(out)[0], 5.0 + 6e-12);
  const Tensor bias =
      Make(DType::kF64, Shape({5}), {1e-13, 0.0, 0.0, 0.0, 1e-13});
  options.beta = 0.0f;
  options.bias = bias;
  ASSERT_THAT(Gemm(stream_, a.As(), b.As(Transpose::kYes), options, out),
              IsOk());
  EXPECT_DOUBLE_EQ(Values(out)[0], 4.0 + 6e-12 + 1e-13);
}

// Operands of two types, as where a float32 gradient meets bf16 weights.
TEST_F(GemmTest, MixedF32AndBf16) {
  const Operand narrow = MakeOperand(DType::kBf16, 33, 17, A41);
  const Operand wide = MakeOperand(DType::kF32, 17, 9, B41);
  std::vector<double> want(33 * 9, 0.0);
  for (int64_t i = 0; i < 33 * 9; ++i) {
    for (int64_t k = 0; k < 17; ++k) want[i] += A41(i / 9, k) * B41(k, i % 9);
  }
  for (const DType out : {DType::kF32, DType::kBf16, DType::kF16}) {
    EXPECT_EQ(Run(narrow.As(), wide.As(), 33, 9, {}, out), want);
    std::vector<double> transposed(want.size());
    for (int64_t i = 0; i < 33 * 9; ++i)
      transposed[i % 9 * 33 + i / 9] = want[i];
    EXPECT_EQ(Run(wide.As(Transpose::kYes), narrow.As(Transpose::kYes), 9, 33,
                  {}, out),
              transposed);
  }
}

// Case 46 (pytorch/pytorch#162091): no output type. Case 33
// (pytorch/pytorch#130059): scales of rank 1.
TEST_F(GemmTest, Refuses) {
  const Operand a = Constant(kE4M3, 16, 32, 1.0);
  const Operand b = Constant(kE4M3, 32, 48, 1.0);
  const Operand plain = Constant(DType::kF32, 16, 32, 1.0);
  const Tensor out = Filled(DType::kF32, Shape({16, 48}), 7.0);
  const auto expect = [&](const GemmOperand& x, const GemmOperand& y,
                          const GemmOptions& options, const TensorView& to,
                          auto message) {
    EXPECT_THAT(Gemm(stream_, x, y, options, to),
                StatusIs(absl::StatusCode::kInvalidArgument, message));
  };
  expect(a.As(), b.As(), {}, TensorView(), HasSubstr("out is absent"));
  expect(a.As(Transpose::kYes), b.As(), {}, out,
         AllOf(HasSubstr("k is 16 in a and 32 in b"), HasSubstr("[16, 32]")));
  const Tensor small = Filled(DType::kF32, Shape({16, 47}), 0.0);
  expect(a.As(), b.As(), {}, small,
         AllOf(HasSubstr("[16, 47]"), HasSubstr("must be [16, 48]")));
  const Tensor wide_out = Filled(DType::kF64, Shape({16, 48}), 0.0);
  expect(a.As(), b.As(), {}, wide_out, HasSubstr("out is f64"));

  GemmOperand x = a.As();
  x.leading_dim = 31;
  expect(x, b.As(), {}, out, HasSubstr("leading_dim of a is 31"));
  x = a.As();
  x.scale = TensorView();
  expect(x, b.As(), {}, out, HasSubstr("without scales"));
  x = a.As();
  const Tensor flat = Filled(DType::kF32, Shape({16}), 1.0);
  x.scale = flat;
  x.granularity = Granularity::kRow;
  expect(x, b.As(), {}, out,
         AllOf(HasSubstr("f32 [16]"), HasSubstr("must be f32 [16, 1]")));
  const Tensor columns = Filled(DType::kF32, Shape({1, 32}), 1.0);
  x.scale = columns;
  x.granularity = Granularity::kColumn;
  expect(x, b.As(), {}, out, HasSubstr("each element along the sum"));
  x = a.As();
  x.transposed = a.data;
  expect(x, b.As(), {}, out,
         AllOf(HasSubstr("transposed of a is"), HasSubstr("[16, 32]")));
  x = a.As();
  x.reciprocal = flat;
  expect(x, b.As(), {}, out,
         AllOf(HasSubstr("reciprocal of a is f32 [16]"),
               HasSubstr("must be f32 [1]")));
  x = GemmOperand();
  x.transposed = plain.data;
  expect(x, b.As(), {}, out, HasSubstr("only float8 may come without data"));
  x = plain.As();
  x.scale = a.scale;
  expect(x, b.As(), {}, out, HasSubstr("has scales"));
  const Operand half_a = Constant(DType::kF16, 16, 32, 1.0);
  expect(half_a.As(), b.As(), {}, out, HasSubstr("f16 [16, 32]"));
  const Operand f64 = Constant(DType::kF64, 16, 32, 1.0);
  expect(f64.As(), b.As(), {}, out, HasSubstr("all three f64"));

  GemmOptions options;
  options.bias = flat;
  expect(a.As(), b.As(), options, out,
         AllOf(HasSubstr("f32 [16]"), HasSubstr("must be [48]")));
  const Tensor square = Filled(DType::kF32, Shape({6, 8}), 1.0);
  options.bias = square;
  expect(a.As(), b.As(), options, out, HasSubstr("bias is f32 [6, 8]"));
  options.bias =
      TensorView(nullptr, DType::kF32, Shape({48}), stream_.device());
  expect(a.As(), b.As(), options, out, HasSubstr("bias has no memory"));
  const Tensor wide = Filled(DType::kF64, Shape({48}), 1.0);
  options.bias = wide;
  expect(a.As(), b.As(), options, out,
         AllOf(HasSubstr("bias is f64"), HasSubstr("out is f32")));
  x = a.As();
  x.data = TensorView(nullptr, kE4M3, Shape({16, 32}), stream_.device());
  expect(x, b.As(), {}, out, HasSubstr("a has no memory"));
  x = a.As();
  x.scale = TensorView(nullptr, DType::kF32, Shape({1, 1}), stream_.device());
  expect(x, b.As(), {}, out, HasSubstr("scale of a has no memory"));
  x.data = TensorView(x.data.data(), kE4M3, Shape({16, 32}),
                      Device{DeviceKind::kCuda, 77});
  expect(x, b.As(), {}, out, HasSubstr("cuda:77"));
  EXPECT_THAT(Values(out), Each(7.0));
}

}  // namespace
}  // namespace octet::float8
