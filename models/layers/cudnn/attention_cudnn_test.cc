// SPDX-License-Identifier: Apache-2.0

// cuDNN against the plain kernel, which attention_test checks against the
// formula.
#include "models/layers/cudnn/attention_cudnn.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/graph.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/attention.h"
#include "models/layers/attention_cuda.h"
#include "models/layers/test_tensors.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::models::internal {
namespace {

using octet::testing::BitwiseEq;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::HasSubstr;

struct Case {
  int64_t batch, length, heads, kv_heads, head_dim;
};

// Each output is NaN until it is written.
struct Problem {
  Problem(const Stream& stream, const Case& c, DType dtype = DType::kBf16)
      : stream(stream),
        sizes(c),
        queries({c.batch, c.length, c.heads, c.head_dim}),
        keys({c.batch, c.length, c.kv_heads, c.head_dim}),
        q(Normal(dtype, queries, 1, 1.5)),
        k(Normal(dtype, keys, 2, 1.5)),
        v(Normal(dtype, keys, 3)),
        grad_o(Normal(dtype, queries, 4)),
        o(Poison(dtype, queries)),
        lse(Poison(DType::kF32, Shape({c.batch, c.heads, c.length}))) {
    PoisonGradients();
  }

  Tensor On(DType dtype, const Shape& shape,
            const std::vector<double>& values) const {
    absl::StatusOr<Tensor> tensor =
        octet::testing::ToDevice(stream, MakeTensor(dtype, shape, values));
    EXPECT_THAT(tensor, IsOk());
    return *std::move(tensor);
  }
  Tensor Normal(DType dtype, const Shape& shape, uint64_t seed,
                double scale = 1.0) const {
    return On(dtype, shape, NormalValues(shape.num_elements(), seed, scale));
  }
  Tensor Poison(DType dtype, const Shape& shape) const {
    return On(dtype, shape,
              std::vector<double>(shape.num_elements(),
                                  std::numeric_limits<double>::quiet_NaN()));
  }
  void PoisonGradients() {
    dq = Poison(q.dtype(), queries);
    dk = Poison(q.dtype(), keys);
    dv = Poison(q.dtype(), keys);
  }

  AttentionForwardArgs forward() const { return {q, k, v, o, lse}; }
  AttentionBackwardArgs backward(bool deterministic = true) const {
    return {forward(), grad_o, dq, dk, dv, deterministic};
  }

  Tensor Host(const Tensor& tensor) const {
    absl::StatusOr<Tensor> host = octet::testing::ToHost(stream, tensor);
    EXPECT_THAT(host, IsOk());
    return *std::move(host);
  }
  std::vector<double> Values(const Tensor& tensor) const {
    return Doubles(Host(tensor));
  }

  const Stream& stream;
  Case sizes;
  Shape queries, keys;
  Tensor q, k, v, grad_o, o, lse, dq, dk, dv;
};

// Declares `stream`, where there is cuDNN as well.
#define CUDNN_TEST_STREAM(stream)                            \
  OCTET_TEST_STREAM(stream);                                 \
  if (!LoadedCudnnVersion().ok()) {                          \
    GTEST_SKIP() << LoadedCudnnVersion().status().message(); \
  }

// Both round to bf16 at the end; cuDNN also the probabilities, and the scores'
// gradients in backward.
constexpr double kForwardTolerance = 0x1p-7;
constexpr double kBackwardTolerance = 0x1p-6;

struct Gradients {
  std::vector<double> dq, dk, dv;
};

Gradients Of(const Problem& p) {
  return {p.Values(p.dq), p.Values(p.dk), p.Values(p.dv)};
}

void ExpectNear(const Gradients& actual, const Gradients& expected) {
  EXPECT_LT(ErrorOf(actual.dq, expected.dq), kBackwardTolerance);
  EXPECT_LT(ErrorOf(actual.dk, expected.dk), kBackwardTolerance);
  EXPECT_LT(ErrorOf(actual.dv, expected.dv), kBackwardTolerance);
}

// Of the plain kernel; o and lse are its own.
Gradients PlainGradients(Problem* p) {
  EXPECT_THAT(AttentionForwardPlain(p->stream, p->forward()), IsOk());
  EXPECT_THAT(AttentionBackwardPlain(p->stream, p->backward()), IsOk());
  const Gradients gradients = Of(*p);
  p->PoisonGradients();
  return gradients;
}

class AttentionCudnnTest : public ::testing::TestWithParam<Case> {};

TEST_P(AttentionCudnnTest, AgreesWithThePlainKernel) {
  CUDNN_TEST_STREAM(stream);
  Problem p(stream, GetParam());
  const Gradients expected = PlainGradients(&p);
  const std::vector<double> o = p.Values(p.o), lse = p.Values(p.lse);
  p.o = p.Poison(DType::kBf16, p.queries);
  p.lse = p.Poison(DType::kF32, p.lse.shape());
  ASSERT_THAT(AttentionForwardCudnn(stream, p.forward()), IsOk());
  EXPECT_LT(ErrorOf(p.Values(p.o), o), kForwardTolerance);
  EXPECT_LT(ErrorOf(p.Values(p.lse), lse), 1e-5);
  for (const bool deterministic : {true, false}) {
    SCOPED_TRACE(deterministic);
    ASSERT_THAT(
        AttentionBackwardCudnnUnguarded(stream, p.backward(deterministic)),
        IsOk());
    ExpectNear(Of(p), expected);
    p.PoisonGradients();
  }
}

TEST_P(AttentionCudnnTest, ASmallBudgetTakesHeadsInTurn) {
  CUDNN_TEST_STREAM(stream);
  Problem p(stream, GetParam());
  const Gradients expected = PlainGradients(&p);
  const int64_t rows = (p.sizes.length + 63) / 64 * 64;
  const int64_t of_key_head =
      2 * rows * rows * p.sizes.heads / p.sizes.kv_heads;
  for (const int64_t key_heads : {int64_t{0}, int64_t{2}, p.sizes.kv_heads}) {
    SCOPED_TRACE(key_heads);
    AttentionBackwardArgs args = p.backward();
    args.scratch_budget = key_heads * of_key_head;
    ASSERT_THAT(AttentionBackwardCudnnUnguarded(stream, args), IsOk());
    ExpectNear(Of(p), expected);
    p.PoisonGradients();
  }
}

TEST_P(AttentionCudnnTest, DeterministicBackwardRepeatsItsBits) {
  CUDNN_TEST_STREAM(stream);
  Problem p(stream, GetParam());
  ASSERT_THAT(AttentionForwardCudnn(stream, p.forward()), IsOk());
  std::vector<Tensor> first;
  for (int run = 0; run < 5; ++run) {
    ASSERT_THAT(AttentionBackwardCudnnUnguarded(stream, p.backward()), IsOk());
    if (run == 0) {
      first.push_back(p.Host(p.dq));
      first.push_back(p.Host(p.dk));
      first.push_back(p.Host(p.dv));
    }
    EXPECT_THAT(p.Host(p.dq), BitwiseEq(first[0]));
    EXPECT_THAT(p.Host(p.dk), BitwiseEq(first[1]));
    EXPECT_THAT(p.Host(p.dv), BitwiseEq(first[2]));
    p.PoisonGradients();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionCudnnTest,
    ::testing::Values(Case{2, 256, 8, 2, 128}, Case{1, 1024, 8, 8, 128},
                      Case{1, 1000, 4, 2, 64}, Case{2, 127, 8, 4, 128},
                      Case{3, 40, 6, 2, 8}, Case{1, 640, 4, 4, 96}));

// What cuDNN does not take, or only in part, is computed all the same.
TEST(AttentionCudnnChoiceTest, TheLayerTakesWhatCudnnRefuses) {
  CUDNN_TEST_STREAM(stream);
  for (const Case& c : {Case{1, 1, 4, 2, 64}, Case{2, 192, 4, 2, 64},
                        Case{1, 70, 2, 1, 12}, Case{1, 70, 2, 1, 136}}) {
    SCOPED_TRACE(c.length);
    Problem p(stream, c);
    const Gradients expected = PlainGradients(&p);
    ASSERT_THAT(AttentionForward(stream, p.forward()), IsOk());
    ASSERT_THAT(AttentionBackward(stream, p.backward()), IsOk());
    const Gradients actual = Of(p);
    EXPECT_LT(ErrorOf(actual.dv, expected.dv), kBackwardTolerance);
    if (c.length == 1) continue;  // dq and dk are 0 but for rounding
    ExpectNear(actual, expected);
  }
}

TEST(AttentionCudnnChoiceTest, RefusesWhatItDoesNotTake) {
  CUDNN_TEST_STREAM(stream);
  const auto refuses = [&](const Problem& p) {
    EXPECT_THAT(AttentionForwardCudnn(stream, p.forward()),
                StatusIs(absl::StatusCode::kUnimplemented));
    EXPECT_THAT(AttentionBackwardCudnn(stream, p.backward()),
                StatusIs(absl::StatusCode::kUnimplemented));
  };
  refuses(Problem(stream, Case{1, 64, 2, 1, 12}));
  refuses(Problem(stream, Case{1, 64, 2, 1, 136}));
  refuses(Problem(stream, Case{1, 64, 2, 1, 64}, DType::kF32));
}

TEST(AttentionCudnnChoiceTest, AnAddressBetweenVectorsIsForThePlainKernel) {
  CUDNN_TEST_STREAM(stream);
  Problem p(stream, Case{1, 128, 2, 1, 64});
  const Gradients expected = PlainGradients(&p);
  const Tensor wider = p.Poison(DType::kBf16, Shape({1, 129, 2, 64}));
  AttentionBackwardArgs args = p.backward();
  args.dq = TensorView(wider.as<char>() + 2, DType::kBf16, p.queries,
                       stream.device());
  EXPECT_THAT(AttentionBackwardCudnn(stream, args),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("address")));
  ASSERT_THAT(AttentionBackward(stream, args), IsOk());
  EXPECT_LT(ErrorOf(p.Values(p.dk), expected.dk), kBackwardTolerance);
}

TEST(AttentionCudnnGraphTest, TheFirstCallIsNotCaptured) {
  CUDNN_TEST_STREAM(stream);
  const Problem p(stream, Case{1, 128, 3, 3, 56});
  EXPECT_THAT(
      Graph::Capture(stream,
                     [&] { return AttentionForwardCudnn(stream, p.forward()); })
          .status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("once")));
  EXPECT_THAT(AttentionForwardCudnn(stream, p.forward()), IsOk());
}

// Whole tiles of keys, and a part of one.
TEST(AttentionCudnnGraphTest, ACapturedCallRepeatsItsBits) {
  CUDNN_TEST_STREAM(stream);
  for (const int64_t length : {256, 200}) {
    SCOPED_TRACE(length);
    Problem p(stream, Case{2, length, 8, 2, 128});
    const auto work = [&] {
      const absl::Status status = AttentionForwardCudnn(stream, p.forward());
      return status.ok() ? AttentionBackwardCudnn(stream, p.backward())
                         : status;
    };
    ASSERT_THAT(work(), IsOk());
    const Tensor o = p.Host(p.o), dq = p.Host(p.dq), dk = p.Host(p.dk);
    const absl::StatusOr<Graph> graph = Graph::Capture(stream, work);
    ASSERT_THAT(graph, IsOk());
    for (int launch = 0; launch < 2; ++launch) {
      ASSERT_THAT(FillZero(stream, p.o), IsOk());
      ASSERT_THAT(FillZero(stream, p.dq), IsOk());
      ASSERT_THAT(FillZero(stream, p.dk), IsOk());
      ASSERT_THAT(graph->Launch(stream), IsOk());
      EXPECT_THAT(p.Host(p.o), BitwiseEq(o));
      EXPECT_THAT(p.Host(p.dq), BitwiseEq(dq));
      EXPECT_THAT(p.Host(p.dk), BitwiseEq(dk));
    }
  }
}

// Rows whose log-sum-exp is below -88.7, for every place of the last key in a
// tile of 128: what cuDNN gives, unguarded, where its report says NaN too.
TEST(AttentionCudnnTailTest, VeryNegativeScoresGiveNumbers) {
  CUDNN_TEST_STREAM(stream);
  RecordProperty("cudnn", std::to_string(*LoadedCudnnVersion()));
  for (const int64_t length : {64, 128, 192, 190, 1000, 1216, 1280}) {
    Problem p(stream, Case{1, length, 4, 1, 64});
    std::vector<double> q = p.Values(p.q), k = p.Values(p.k);
    for (size_t i = 0; i < q.size(); ++i) q[i] = i % 64 == 0 ? 8 : 0.1 * q[i];
    for (size_t i = 0; i < k.size(); ++i) {
      k[i] = i % 64 == 0 ? -100 : 0.1 * k[i];
    }
    p.q = p.On(DType::kBf16, p.queries, q);
    p.k = p.On(DType::kBf16, p.keys, k);
    ASSERT_THAT(AttentionForwardCudnn(stream, p.forward()), IsOk());
    for (const bool deterministic : {true, false}) {
      ASSERT_THAT(
          AttentionBackwardCudnnUnguarded(stream, p.backward(deterministic)),
          IsOk());
      int64_t bad = 0;
      for (const auto& values :
           {p.Values(p.dq), p.Values(p.dk), p.Values(p.dv)}) {
        for (const double x : values) bad += std::isfinite(x) ? 0 : 1;
      }
      EXPECT_EQ(bad, 0) << length << (deterministic ? " deterministic" : "");
      p.PoisonGradients();
    }
  }
}

}  // namespace
}  // namespace octet::models::internal
