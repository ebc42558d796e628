// SPDX-License-Identifier: Apache-2.0
#include "models/layers/attention.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "testing/gradient_check.h"
#include "testing/status_matchers.h"

namespace octet::models {
namespace {

using octet::testing::GradientMatches;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::HasSubstr;

struct Case {
  int64_t batch, length, heads, kv_heads, head_dim;
};

struct Inputs {
  explicit Inputs(const Case& c)
      : sizes(c),
        queries({c.batch, c.length, c.heads, c.head_dim}),
        keys({c.batch, c.length, c.kv_heads, c.head_dim}),
        q(NormalValues(queries.num_elements(), 1, 1.5)),
        k(NormalValues(keys.num_elements(), 2, 1.5)),
        v(NormalValues(keys.num_elements(), 3)),
        grad_o(NormalValues(queries.num_elements(), 4)) {}
  Case sizes;
  Shape queries, keys;
  std::vector<double> q, k, v, grad_o;
};

struct Result {
  std::vector<double> o, dq, dk, dv;
};

Result RunBoth(const Inputs& in, DType dtype) {
  const DType statistic = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor q = MakeTensor(dtype, in.queries, in.q);
  const Tensor k = MakeTensor(dtype, in.keys, in.k);
  const Tensor v = MakeTensor(dtype, in.keys, in.v);
  const Tensor grad_o = MakeTensor(dtype, in.queries, in.grad_o);
  const Tensor o = MakeZeros(dtype, in.queries);
  const Tensor lse = MakeZeros(
      statistic, Shape({in.sizes.batch, in.sizes.heads, in.sizes.length}));
  const AttentionForwardArgs forward = {q, k, v, o, lse};
  EXPECT_THAT(AttentionForward(Stream(), forward), IsOk());
  const Tensor dq = MakeZeros(dtype, in.queries);
  const Tensor dk = MakeZeros(dtype, in.keys);
  const Tensor dv = MakeZeros(dtype, in.keys);
  EXPECT_THAT(AttentionBackward(Stream(), {forward, grad_o, dq, dk, dv}),
              IsOk());
  return {Doubles(o), Doubles(dq), Doubles(dk), Doubles(dv)};
}

std::vector<double> Reference(const Inputs& in) {
  const Case& c = in.sizes;
  std::vector<double> o(in.q.size(), 0.0);
  const auto row = [&](int64_t b, int64_t t, int64_t heads, int64_t h) {
    return ((b * c.length + t) * heads + h) * c.head_dim;
  };
  for (int64_t b = 0; b < c.batch; ++b) {
    for (int64_t h = 0; h < c.heads; ++h) {
      const int64_t g = h / (c.heads / c.kv_heads);
      for (int64_t i = 0; i < c.length; ++i) {
        std::vector<double> p(i + 1);
        double sum = 0.0;
        for (int64_t j = 0; j <= i; ++j) {
          double dot = 0.0;
          for (int64_t d = 0; d < c.head_dim; ++d) {
            dot += in.q[row(b, i, c.heads, h) + d] *
                   in.k[row(b, j, c.kv_heads, g) + d];
          }
          p[j] = std::exp(dot / std::sqrt(1.0 * c.head_dim));
          sum += p[j];
        }
        for (int64_t j = 0; j <= i; ++j) {
          for (int64_t d = 0; d < c.head_dim; ++d) {
            o[row(b, i, c.heads, h) + d] +=
                p[j] / sum * in.v[row(b, j, c.kv_heads, g) + d];
          }
        }
      }
    }
  }
  return o;
}

class AttentionTest : public ::testing::TestWithParam<Case> {};

TEST_P(AttentionTest, MatchesTheFormula) {
  const Inputs in(GetParam());
  const std::vector<double> expected = Reference(in);
  EXPECT_LT(ErrorOf(RunBoth(in, DType::kF64).o, expected), 1e-13);
  EXPECT_LT(ErrorOf(RunBoth(in, DType::kF32).o, expected), 2e-6);
  EXPECT_LT(ErrorOf(RunBoth(in, DType::kBf16).o, expected), 0x1p-6);
}

TEST_P(AttentionTest, GradientsMatchDifferences) {
  Inputs in(GetParam());
  const Result result = RunBoth(in, DType::kF64);
  const auto loss = [&] {
    const std::vector<double> o = RunBoth(in, DType::kF64).o;
    double sum = 0.0;
    for (size_t i = 0; i < o.size(); ++i) sum += o[i] * in.grad_o[i];
    return sum;
  };
  octet::testing::GradientCheckOptions options;
  options.max_elements = 60;
  options.tolerance = 1e-6;
  EXPECT_TRUE(GradientMatches(loss, absl::MakeSpan(in.v), result.dv, options));
  // A single token attends to itself whatever its query and key are.
  if (in.sizes.length == 1) return;
  EXPECT_TRUE(GradientMatches(loss, absl::MakeSpan(in.q), result.dq, options));
  EXPECT_TRUE(GradientMatches(loss, absl::MakeSpan(in.k), result.dk, options));
}

TEST_P(AttentionTest, NarrowDtypesAgreeWithDouble) {
  const Inputs in(GetParam());
  const Result exact = RunBoth(in, DType::kF64);
  const Result f32 = RunBoth(in, DType::kF32);
  const Result bf16 = RunBoth(in, DType::kBf16);
  EXPECT_LT(ErrorOf(f32.dv, exact.dv), 5e-6);
  EXPECT_LT(ErrorOf(bf16.dv, exact.dv), 0x1p-5);
  if (in.sizes.length == 1) return;
  EXPECT_LT(ErrorOf(f32.dq, exact.dq), 5e-6);
  EXPECT_LT(ErrorOf(f32.dk, exact.dk), 5e-6);
  EXPECT_LT(ErrorOf(bf16.dq, exact.dq), 0x1p-5);
  EXPECT_LT(ErrorOf(bf16.dk, exact.dk), 0x1p-5);
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTest,
                         ::testing::Values(Case{1, 1, 1, 1, 2},
                                           Case{2, 7, 2, 2, 5},
                                           Case{2, 32, 4, 2, 16},
                                           Case{1, 33, 6, 2, 8},
                                           Case{1, 70, 3, 1, 32}));

TEST(AttentionErrorTest, AFutureTokenChangesNothing) {
  Inputs in(Case{1, 40, 2, 1, 16});
  const std::vector<double> before = RunBoth(in, DType::kF32).o;
  for (size_t i = 39 * 16; i < 40 * 16; ++i) in.k[i] = in.v[i] = 100.0;
  const std::vector<double> after = RunBoth(in, DType::kF32).o;
  for (size_t i = 0; i < 39 * 32; ++i) ASSERT_EQ(before[i], after[i]) << i;
  EXPECT_NE(before.back(), after.back());
}

TEST(AttentionErrorTest, RefusesHeadsThatDoNotDivide) {
  const Tensor q = MakeZeros(DType::kF32, Shape({1, 2, 3, 4}));
  const Tensor k = MakeZeros(DType::kF32, Shape({1, 2, 2, 4}));
  const Tensor lse = MakeZeros(DType::kF32, Shape({1, 3, 2}));
  EXPECT_THAT(AttentionForward(Stream(), {q, k, k, q, lse}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("q is f32 [1, 2, 3, 4]")));
}

TEST(AttentionErrorTest, RefusesAWrongLogSumExp) {
  const Tensor q = MakeZeros(DType::kF32, Shape({1, 2, 3, 4}));
  const Tensor lse = MakeZeros(DType::kF32, Shape({1, 2, 3}));
  EXPECT_THAT(
      AttentionForward(Stream(), {q, q, q, q, lse}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("log_sum_exp")));
}

}  // namespace
}  // namespace octet::models
