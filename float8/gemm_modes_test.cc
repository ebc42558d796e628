// SPDX-License-Identifier: Apache-2.0

// What every device multiplies: pairs of scales, layouts and padding, with the
// forms that a GPU takes as they are and without.

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/graph.h"
#include "float8/gemm.h"
#include "float8/gemm_scales_fixture.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {
namespace {

using octet::testing::BitwiseEq;
using octet::testing::FromDoubles;
using octet::testing::IsNear;
using octet::testing::IsOk;
using octet::testing::ToDoubles;
using octet::testing::ToHost;
using ::testing::Each;
using G = Granularity;

constexpr DType kE4M3 = DType::kF8E4M3;
constexpr DType kE5M2 = DType::kF8E5M2;

// Along k, of a and of b [n, k].
const std::vector<std::pair<G, G>> kPairs = {
    {G::kTensor, G::kTensor},
    {G::kRow, G::kRow},
    {G::kTensor, G::kRow},
    {G::kRow, G::kTensor},
    {G::kBlock1x128, G::kBlock1x128},
    {G::kBlock1x128, G::kBlock128x128},
    {G::kBlock128x128, G::kBlock1x128},
};

bool IsBlocks(G g) { return g == G::kBlock1x128 || g == G::kBlock128x128; }

struct Size {
  int64_t m, n, k;
};

class GemmModesTest : public GemmScalesTest {
 protected:
  // Both operands of one product, and its result in double.
  struct Case {
    Quantized a;
    Quantized b;
    Tensor want;
  };
  Case MakeCase(const std::pair<G, G>& pair, const Size& s,
                ScaleRounding rounding = ScaleRounding::kExact) {
    Case c;
    c.a = Quantise(Random(Shape({s.m, s.k}), 1), pair.first, rounding, kE4M3);
    c.b = Quantise(Random(Shape({s.n, s.k}), 2), pair.second, rounding, kE4M3);
    c.want = Product(Meaning(c.a), Meaning(c.b), s.m, s.n, s.k);
    return c;
  }
};

// pytorch/pytorch#166752: a wrong stride of 128x128 scales where k / 128 is not
// a multiple of 4 is a wrong result and no error.
TEST_F(GemmModesTest, EveryK) {
  for (const std::pair<G, G>& pair : kPairs) {
    for (const int64_t k : {64, 128, 192, 200, 256, 384, 640}) {
      for (const Size s : {Size{144, 272, k}, Size{33, 37, k}}) {
        SCOPED_TRACE(absl::StrCat(Name(pair.first), " ", Name(pair.second), " ",
                                  s.m, " ", s.n, " ", k));
        Case c = MakeCase(pair, s);
        const auto run = [&] {
          return Run(OperandOf(c.a), OperandOf(c.b, Transpose::kYes), s.m, s.n);
        };
        const Tensor plain = run();
        EXPECT_THAT(plain.view(), IsNear(c.want, Tolerance()));
        AddForms(&c.a);
        AddForms(&c.b);
        EXPECT_THAT(run().view(), BitwiseEq(plain));
      }
    }
  }
}

// Operands that lie the other way, as dgrad and wgrad have them, by the bytes
// alone and by the forms made for it.
TEST_F(GemmModesTest, EveryTranspose) {
  constexpr Size kSize{144, 272, 384};
  for (const std::pair<G, G>& pair : kPairs) {
    SCOPED_TRACE(absl::StrCat(Name(pair.first), " ", Name(pair.second)));
    const Tensor a_t = Random(Shape({kSize.k, kSize.m}), 3);
    const Tensor b_t = Random(Shape({kSize.k, kSize.n}), 4);
    Quantized a =
        Quantise(a_t, Flipped(pair.first), ScaleRounding::kExact, kE5M2);
    Quantized b =
        Quantise(b_t, Flipped(pair.second), ScaleRounding::kExact, kE4M3);
    const auto flip = [](const std::vector<double>& x, int64_t cols) {
      std::vector<double> out(x.size());
      const int64_t rows = static_cast<int64_t>(x.size()) / cols;
      for (int64_t i = 0; i < rows * cols; ++i) {
        out[i % cols * rows + i / cols] = x[i];
      }
      return out;
    };
    const Tensor want =
        Product(flip(Meaning(a), kSize.m), flip(Meaning(b), kSize.n), kSize.m,
                kSize.n, kSize.k);
    const auto run = [&] {
      return Run(OperandOf(a, Transpose::kYes), OperandOf(b), kSize.m, kSize.n);
    };
    const Tensor plain = run();
    EXPECT_THAT(plain.view(), IsNear(want, Tolerance()));
    AddForms(&a);
    AddForms(&b);
    EXPECT_THAT(run().view(), BitwiseEq(plain));
    a.data = Tensor();
    b.data = Tensor();
    EXPECT_THAT(run().view(), BitwiseEq(plain));
  }
}

TEST_F(GemmModesTest, FastAccumulation) {
  GemmOptions options;
  options.accumulation = Accumulation::kFast;
  for (const std::pair<G, G>& pair : kPairs) {
    if (IsBlocks(pair.first)) continue;
    SCOPED_TRACE(absl::StrCat(Name(pair.first), " ", Name(pair.second)));
    const Case c = MakeCase(pair, {144, 272, 640});
    EXPECT_THAT(
        Run(OperandOf(c.a), OperandOf(c.b, Transpose::kYes), 144, 272, options)
            .view(),
        IsNear(c.want, Tolerance(Accumulation::kFast)));
  }
}

// wgrad accumulates; forward may have a bias. Where cuBLASLt can do both, and
// where it cannot (n is odd).
TEST_F(GemmModesTest, BetaAndBiasInEveryMode) {
  for (const std::pair<G, G>& pair : kPairs) {
    for (const int64_t n : {272, 37}) {
      const Case c = MakeCase(pair, {144, n, 256});
      for (const DType bias_dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
        SCOPED_TRACE(absl::StrCat(Name(pair.first), " ", Name(pair.second),
                                  " bias ", Name(bias_dtype), " n ", n));
        const std::vector<double> ones(144 * n, 1.0);
        const Tensor out =
            OnDevice(*FromDoubles(ones, DType::kF32, Shape({144, n})));
        const Tensor bias = OnDevice(
            *FromDoubles(std::vector<double>(n, 0.5), bias_dtype, Shape({n})));
        GemmOptions options;
        options.beta = 1.0f;
        options.bias = bias;
        ASSERT_THAT(Gemm(stream_, OperandOf(c.a),
                         OperandOf(c.b, Transpose::kYes), options, out),
                    IsOk());
        std::vector<double> want = *ToDoubles(c.want);
        for (double& x : want) x += 1.5;
        EXPECT_THAT(ToHost(stream_, out)->view(),
                    IsNear(*FromDoubles(want, DType::kF64, Shape({144, n})),
                           Tolerance()));
      }
    }
  }
}

TEST_F(GemmModesTest, SameBitsEveryTimeInEveryMode) {
  for (const std::pair<G, G>& pair : kPairs) {
    const Case c = MakeCase(pair, {144, 272, 640});
    const auto run = [&] {
      return Run(OperandOf(c.a), OperandOf(c.b, Transpose::kYes), 144, 272);
    };
    const Tensor first = run();
    for (int i = 0; i < 4; ++i) EXPECT_THAT(run().view(), BitwiseEq(first));
  }
}

// A graph holds what an eager call does.
TEST_F(GemmModesTest, Captured) {
  for (const std::pair<G, G>& pair : kPairs) {
    for (const int64_t n : {272, 37}) {
      SCOPED_TRACE(absl::StrCat(Name(pair.first), " ", Name(pair.second)));
      const Case c = MakeCase(pair, {144, n, 256});
      const Tensor out = *Tensor::Zeros(stream_, DType::kF32, Shape({144, n}));
      const auto work = [&] {
        return Gemm(stream_, OperandOf(c.a), OperandOf(c.b, Transpose::kYes),
                    {}, out);
      };
      ASSERT_THAT(work(), IsOk());
      const Tensor eager = *ToHost(stream_, out);
      OCTET_ASSERT_OK_AND_ASSIGN(const Graph graph,
                                 Graph::Capture(stream_, work));
      ASSERT_THAT(FillZero(stream_, out), IsOk());
      ASSERT_THAT(graph.Launch(stream_), IsOk());
      EXPECT_THAT(ToHost(stream_, out)->view(), BitwiseEq(eager));
    }
  }
}

// Case 37 (pytorch/ao#571): a batch of 3 or 8 is what wgrad sums over.
TEST_F(GemmModesTest, LinearOfASmallBatch) {
  for (const int64_t batch : {3, 8}) {
    const auto ones = [&](int64_t rows, int64_t cols) {
      return Quantise(*FromDoubles(std::vector<double>(rows * cols, 1.0),
                                   DType::kBf16, Shape({rows, cols})),
                      G::kTensor, ScaleRounding::kExact, kE4M3);
    };
    const Quantized x = ones(batch, 32), w = ones(16, 32), g = ones(batch, 16);
    const auto near = [](double value) {
      return Each(::testing::DoubleNear(value, 1e-5 * value));
    };
    EXPECT_THAT(
        *ToDoubles(Run(OperandOf(x), OperandOf(w, Transpose::kYes), batch, 16)),
        near(32));
    EXPECT_THAT(*ToDoubles(Run(OperandOf(g), OperandOf(w), batch, 32)),
                near(16));
    EXPECT_THAT(
        *ToDoubles(Run(OperandOf(g, Transpose::kYes), OperandOf(x), 16, 32)),
        near(static_cast<double>(batch)));
  }
}

}  // namespace
}  // namespace octet::float8
