// SPDX-License-Identifier: Apache-2.0
#include "models/layers/attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/graph.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/test_tensors.h"
#include "testing/gradient_check.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::models {
namespace {

using octet::testing::BitwiseEq;
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

// On the stream's device.
Tensor On(const Stream& stream, DType dtype, const Shape& shape,
          const std::vector<double>& values) {
  absl::StatusOr<Tensor> tensor =
      octet::testing::ToDevice(stream, MakeTensor(dtype, shape, values));
  EXPECT_THAT(tensor, IsOk());
  return *std::move(tensor);
}

// What every output is before it is written.
Tensor Poison(const Stream& stream, DType dtype, const Shape& shape) {
  return On(stream, dtype, shape,
            std::vector<double>(shape.num_elements(),
                                std::numeric_limits<double>::quiet_NaN()));
}

Tensor Host(const Stream& stream, const Tensor& tensor) {
  absl::StatusOr<Tensor> host = octet::testing::ToHost(stream, tensor);
  EXPECT_THAT(host, IsOk());
  return *std::move(host);
}

// A problem on the stream's device.
struct Problem {
  Problem(const Stream& stream, const Inputs& in, DType dtype)
      : q(On(stream, dtype, in.queries, in.q)),
        k(On(stream, dtype, in.keys, in.k)),
        v(On(stream, dtype, in.keys, in.v)),
        grad_o(On(stream, dtype, in.queries, in.grad_o)),
        o(Poison(stream, dtype, in.queries)),
        lse(Poison(stream, dtype == DType::kF64 ? DType::kF64 : DType::kF32,
                   Shape({in.sizes.batch, in.sizes.heads, in.sizes.length}))),
        dq(Poison(stream, dtype, in.queries)),
        dk(Poison(stream, dtype, in.keys)),
        dv(Poison(stream, dtype, in.keys)) {}

  AttentionForwardArgs forward() const { return {q, k, v, o, lse}; }
  AttentionBackwardArgs backward() const {
    return {forward(), grad_o, dq, dk, dv};
  }

  Tensor q, k, v, grad_o, o, lse, dq, dk, dv;
};

// On the host.
struct Tensors {
  Tensor o, lse, dq, dk, dv;
};

Tensors RunTensors(const Stream& stream, const Inputs& in, DType dtype) {
  const Problem problem(stream, in, dtype);
  EXPECT_THAT(AttentionForward(stream, problem.forward()), IsOk());
  EXPECT_THAT(AttentionBackward(stream, problem.backward()), IsOk());
  return {Host(stream, problem.o), Host(stream, problem.lse),
          Host(stream, problem.dq), Host(stream, problem.dk),
          Host(stream, problem.dv)};
}

struct Result {
  std::vector<double> o, dq, dk, dv;
};

Result RunBoth(const Stream& stream, const Inputs& in, DType dtype) {
  const Tensors t = RunTensors(stream, in, dtype);
  return {Doubles(t.o), Doubles(t.dq), Doubles(t.dk), Doubles(t.dv)};
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

// Tolerances are relative errors of a whole tensor, as a fraction of its norm.
// bf16 rounds inputs and outputs alike to 2^-9, and kernels on tensor cores the
// probabilities and the scores' gradients too.
TEST_P(AttentionTest, MatchesTheFormula) {
  OCTET_TEST_STREAM(stream);
  const Inputs in(GetParam());
  const std::vector<double> expected = Reference(in);
  EXPECT_LT(ErrorOf(RunBoth(Stream(), in, DType::kF64).o, expected), 1e-13);
  EXPECT_LT(ErrorOf(RunBoth(stream, in, DType::kF32).o, expected), 2e-6);
  EXPECT_LT(ErrorOf(RunBoth(stream, in, DType::kBf16).o, expected), 0x1p-6);
}

TEST_P(AttentionTest, GradientsMatchDifferences) {
  OCTET_TEST_STREAM(stream);
  if (stream.device().kind != DeviceKind::kCpu) GTEST_SKIP() << "in double";
  Inputs in(GetParam());
  if (in.queries.num_elements() > 10000) GTEST_SKIP() << "takes long";
  const Result result = RunBoth(stream, in, DType::kF64);
  const auto loss = [&] {
    const std::vector<double> o = RunBoth(stream, in, DType::kF64).o;
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
  OCTET_TEST_STREAM(stream);
  const Inputs in(GetParam());
  const Result exact = RunBoth(Stream(), in, DType::kF64);
  const Result f32 = RunBoth(stream, in, DType::kF32);
  const Result bf16 = RunBoth(stream, in, DType::kBf16);
  EXPECT_LT(ErrorOf(f32.dv, exact.dv), 5e-6);
  EXPECT_LT(ErrorOf(bf16.dv, exact.dv), 0x1p-5);
  if (in.sizes.length == 1) return;
  EXPECT_LT(ErrorOf(f32.dq, exact.dq), 5e-6);
  EXPECT_LT(ErrorOf(f32.dk, exact.dk), 5e-6);
  EXPECT_LT(ErrorOf(bf16.dq, exact.dq), 0x1p-5);
  EXPECT_LT(ErrorOf(bf16.dk, exact.dk), 0x1p-5);
}

TEST_P(AttentionTest, SavesTheLogSumExp) {
  OCTET_TEST_STREAM(stream);
  const Inputs in(GetParam());
  const auto lse = [&](const Stream& where, DType dtype) {
    return Doubles(RunTensors(where, in, dtype).lse);
  };
  const std::vector<double> exact = lse(Stream(), DType::kF64);
  EXPECT_LT(ErrorOf(lse(stream, DType::kF32), exact), 2e-6);
  EXPECT_LT(ErrorOf(lse(stream, DType::kBf16), exact), 0x1p-6);
}

TEST_P(AttentionTest, RepeatsItsBits) {
  OCTET_TEST_STREAM(stream);
  const Inputs in(GetParam());
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    const Tensors a = RunTensors(stream, in, dtype);
    const Tensors b = RunTensors(stream, in, dtype);
    EXPECT_THAT(b.o, BitwiseEq(a.o));
    EXPECT_THAT(b.lse, BitwiseEq(a.lse));
    EXPECT_THAT(b.dq, BitwiseEq(a.dq));
    EXPECT_THAT(b.dk, BitwiseEq(a.dk));
    EXPECT_THAT(b.dv, BitwiseEq(a.dv));
  }
}

// Tails of tiles, single tokens, heads that are no whole vectors; from 64 wide
// and 64 long on, shapes as models have them.
INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionTest,
    ::testing::Values(Case{1, 1, 1, 1, 2}, Case{3, 1, 4, 2, 64},
                      Case{2, 7, 2, 2, 5}, Case{2, 32, 4, 2, 16},
                      Case{1, 33, 6, 2, 8}, Case{1, 70, 3, 1, 32},
                      Case{2, 127, 8, 2, 64}, Case{1, 192, 4, 1, 128},
                      Case{1, 65, 2, 1, 200}, Case{1, 130, 1, 1, 256}));

TEST(AttentionGraphTest, ACapturedCallWritesTheSame) {
  OCTET_TEST_STREAM(stream);
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    const Inputs in(Case{2, 128, 4, 2, 64});
    const Tensors expected = RunTensors(stream, in, dtype);
    const Problem problem(stream, in, dtype);
    const absl::StatusOr<Graph> graph = Graph::Capture(stream, [&] {
      const absl::Status status = AttentionForward(stream, problem.forward());
      return status.ok() ? AttentionBackward(stream, problem.backward())
                         : status;
    });
    ASSERT_THAT(graph, IsOk());
    ASSERT_THAT(graph->Launch(stream), IsOk());
    EXPECT_THAT(Host(stream, problem.o), BitwiseEq(expected.o));
    EXPECT_THAT(Host(stream, problem.dq), BitwiseEq(expected.dq));
    EXPECT_THAT(Host(stream, problem.dk), BitwiseEq(expected.dk));
    EXPECT_THAT(Host(stream, problem.dv), BitwiseEq(expected.dv));
  }
}

TEST(AttentionEdgeTest, NoSequencesAreNoWork) {
  OCTET_TEST_STREAM(stream);
  const Inputs in(Case{0, 8, 2, 1, 16});
  EXPECT_TRUE(RunBoth(stream, in, DType::kBf16).dq.empty());
}

TEST(AttentionEdgeTest, AFutureTokenChangesNothing) {
  OCTET_TEST_STREAM(stream);
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    Inputs in(Case{1, 40, 2, 1, 16});
    const std::vector<double> before = RunBoth(stream, in, dtype).o;
    for (size_t i = 39 * 16; i < 40 * 16; ++i) in.k[i] = in.v[i] = 100.0;
    const std::vector<double> after = RunBoth(stream, in, dtype).o;
    for (size_t i = 0; i < 39 * 32; ++i) ASSERT_EQ(before[i], after[i]) << i;
    EXPECT_NE(before.back(), after.back());
  }
}

// All scores near -100, whose exponentials are zeros in f32: the part of a tile
// that lies behind the last key must not count with a score of 0.
TEST(AttentionEdgeTest, VeryNegativeScoresGiveNumbers) {
  OCTET_TEST_STREAM(stream);
  for (const int64_t length : {40, 64, 128, 190, 192, 320}) {
    Inputs in(Case{1, length, 2, 1, 64});
    for (size_t i = 0; i < in.q.size(); ++i) {
      in.q[i] = i % 64 == 0 ? 8.0 : 0.1 * in.q[i];
    }
    for (size_t i = 0; i < in.k.size(); ++i) {
      in.k[i] = i % 64 == 0 ? -100.0 : 0.1 * in.k[i];
    }
    Result exact = RunBoth(Stream(), in, DType::kF64);
    Result bf16 = RunBoth(stream, in, DType::kBf16);
    // A row's gradients of scores add up to 0, but for their rounding, which
    // the first elements of the keys multiply by 100.
    for (size_t i = 0; i < exact.dq.size(); i += 64) {
      EXPECT_TRUE(std::isfinite(bf16.dq[i])) << length;
      exact.dq[i] = bf16.dq[i] = 0.0;
    }
    EXPECT_LT(ErrorOf(bf16.o, exact.o), 0x1p-6) << length;
    EXPECT_LT(ErrorOf(bf16.dq, exact.dq), 0x1p-4) << length;
    EXPECT_LT(ErrorOf(bf16.dk, exact.dk), 0x1p-4) << length;
    EXPECT_LT(ErrorOf(bf16.dv, exact.dv), 0x1p-5) << length;
  }
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
