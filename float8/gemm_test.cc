// SPDX-License-Identifier: Apache-2.0

// Shapes, layouts, epilogues and refusals. Scales along k: gemm_scales_test.

#include "float8/gemm.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {
namespace {

using octet::testing::FromDoubles;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using octet::testing::ToDevice;
using octet::testing::ToDoubles;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr DType kE4M3 = DType::kF8E4M3;
constexpr DType kE5M2 = DType::kF8E5M2;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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
    absl::StatusOr<Tensor> host = FromDoubles(values, dtype, shape);
    EXPECT_THAT(host, IsOk());
    absl::StatusOr<Tensor> device = ToDevice(stream_, *host);
    EXPECT_THAT(device, IsOk());
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
    EXPECT_THAT(stream_.Synchronize(), IsOk());
    absl::StatusOr<std::vector<double>> values = ToDoubles(device);
    EXPECT_THAT(values, IsOk());
    return *std::move(values);
  }
  // Into memory full of NaN, which must not be read.
  std::vector<double> Run(const GemmOperand& a, const GemmOperand& b, int64_t m,
                          int64_t n, const GemmOptions& options = {},
                          DType out_dtype = DType::kF32) {
    const Tensor out = Filled(out_dtype, Shape({m, n}), kNaN);
    EXPECT_THAT(Gemm(stream_, a, b, options, out), IsOk());
    return Values(out);
  }

  Stream stream_;
};

double A41(int64_t i, int64_t k) { return (i + 3 * k) % 5; }
double B41(int64_t k, int64_t n) { return (k + 2 * n) % 3; }

// Both operands given by rows and by columns, so that all four combinations of
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
      for (const DType out : {DType::kF32, DType::kBf16}) {
        SCOPED_TRACE(absl::StrCat(Name(dtype), " ", s.m, " ", s.n, " ", s.k));
        EXPECT_EQ(Run(a.As(), b.As(), s.m, s.n, {}, out), want);
        EXPECT_EQ(Run(a.As(), b_t.As(Transpose::kYes), s.m, s.n, {}, out),
                  want);
        EXPECT_EQ(Run(a_t.As(Transpose::kYes), b.As(), s.m, s.n, {}, out),
                  want);
        EXPECT_EQ(Run(a_t.As(Transpose::kYes), b_t.As(Transpose::kYes), s.m,
                      s.n, {}, out),
                  want);
      }
      if (s.m != 32) continue;
      EXPECT_EQ(want[0], 95);
      EXPECT_EQ(want[1 * 64 + 2], 99);
      EXPECT_EQ(want[31 * 64 + 63], 98);
    }
  }
}

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

TEST_F(GemmTest, EmptySizes) {
  const Operand none = Constant(kE4M3, 0, 32, 1.0);
  const Operand b = Constant(kE4M3, 32, 16, 1.0);
  EXPECT_TRUE(Run(none.As(), b.As(), 0, 16).empty());
  EXPECT_TRUE(Run(b.As(Transpose::kYes), none.As(Transpose::kYes), 16, 0, {},
                  DType::kF32)
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

// A small term beside a large one, all within f32.
TEST_F(GemmTest, SumsAreF32) {
  for (const auto& [k, exact] : {std::pair<int64_t, double>{32, 200735},
                                 std::pair<int64_t, double>{256, 200959}}) {
    const auto f = [](int64_t, int64_t i) { return i == 0 ? 448.0 : 1.0; };
    const Operand a = MakeOperand(kE4M3, 16, k, f);
    const Operand b = MakeOperand(kE4M3, 16, k, f);
    const std::vector<double> got = Run(a.As(), b.As(Transpose::kYes), 16, 16);
    if (stream_.device().kind == DeviceKind::kCpu) {
      EXPECT_THAT(got, Each(exact));
    } else {
      // Tensor cores keep fewer bits of the smaller terms.
      EXPECT_THAT(got, Each(::testing::DoubleNear(exact, 64)));
    }
    EXPECT_THAT(Run(a.As(), b.As(Transpose::kYes), 16, 16, {}, DType::kBf16),
                Each(200704.0));
  }
}

TEST_F(GemmTest, BiasOfEveryDType) {
  const Operand a = Constant(kE4M3, 16, 32, 1.0);
  const Operand b = Constant(kE4M3, 32, 16, 1.0);
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
    const Tensor bias = Filled(dtype, Shape({16}), 0.25);
    GemmOptions options;
    options.bias = bias;
    EXPECT_THAT(Run(a.As(), b.As(), 16, 16, options), Each(32.25));
    EXPECT_THAT(Run(a.As(), b.As(), 16, 16, options, DType::kBf16),
                Each(32.25));
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
    for (const DType out_dtype : {DType::kF32, DType::kBf16}) {
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

// A matrix inside a larger one, at an odd address.
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
  if (stream_.device().kind != DeviceKind::kCpu) GTEST_SKIP() << "CPU only";
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
}

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
  const Tensor half = Filled(DType::kF16, Shape({16, 48}), 0.0);
  expect(a.As(), b.As(), {}, half, HasSubstr("out is f16"));

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
         AllOf(HasSubstr("f32 [16]"), HasSubstr("n is 48")));
  const Tensor wide = Filled(DType::kF64, Shape({48}), 1.0);
  options.bias = wide;
  expect(a.As(), b.As(), options, out,
         AllOf(HasSubstr("bias is f64"), HasSubstr("out is f32")));
  x = a.As();
  x.data = TensorView(nullptr, kE4M3, Shape({16, 32}), stream_.device());
  expect(x, b.As(), {}, out, HasSubstr("a has no memory"));
  x.data = TensorView(x.data.data(), kE4M3, Shape({16, 32}),
                      Device{DeviceKind::kCuda, 77});
  expect(x, b.As(), {}, out, HasSubstr("cuda:77"));
  EXPECT_THAT(Values(out), Each(7.0));
}

}  // namespace
}  // namespace octet::float8
