// SPDX-License-Identifier: Apache-2.0

// A layer in its steady state: it queues work and nothing else, so that it may
// be captured in a graph, which on a GPU refuses allocations and waiting.
#include "base/graph.h"
#include "float8/linear_fixture.h"
#include "gmock/gmock.h"
#include "testing/tensor_matchers.h"

namespace octet::float8 {
namespace {

using ::octet::testing::BitwiseEq;
using ::octet::testing::IsOk;

TEST_F(LinearTest, AGraphDoesWhatItsCallsDid) {
  const Size s = {48, 96, 160};
  for (const DType dtype : {DType::kBf16, DType::kF32}) {
    const Tensor x = Random(dtype, Shape({s.m, s.k}), 1);
    const Tensor w = Random(dtype, Shape({s.n, s.k}), 2);
    const Tensor g = Random(dtype, Shape({s.m, s.n}), 3);
    const Tensor bias = Random(DType::kBf16, Shape({s.n}), 4);
    for (const Recipe& recipe : Recipes()) {
      SCOPED_TRACE(recipe.name);
      Layer layer(stream_, recipe, dtype, s);
      const auto step = [&]() -> absl::Status {
        absl::Status status = layer.Forward(x, w, bias);
        status.Update(layer.Backward(g, kOverwrite, kOverwrite));
        return status;
      };
      ASSERT_THAT(step(), IsOk());
      const Tensor y = Host(layer.y), dx = Host(layer.dx), dw = Host(layer.dw);
      OCTET_ASSERT_OK_AND_ASSIGN(const Graph graph,
                                 Graph::Capture(stream_, step));
      for (const Tensor* out : {&layer.y, &layer.dx, &layer.dw}) {
        ASSERT_THAT(FillZero(stream_, *out), IsOk());
      }
      for (int launch = 0; launch < 2; ++launch) {
        ASSERT_THAT(graph.Launch(stream_), IsOk());
        EXPECT_THAT(Host(layer.y).view(), BitwiseEq(y));
        EXPECT_THAT(Host(layer.dx).view(), BitwiseEq(dx));
        EXPECT_THAT(Host(layer.dw).view(), BitwiseEq(dw));
      }
    }
  }
}

// A producer's amax stands for the tensor's own.
TEST_F(LinearTest, KnownAmaxGivesTheSameBits) {
  const Size s = {48, 96, 160};
  const Tensor x = Random(DType::kBf16, Shape({s.m, s.k}), 1);
  const Recipe recipe = *NamedRecipe("tensorwise");
  LinearOperand own, known;
  ASSERT_THAT(PrepareInput(stream_, recipe, {x}, &own), IsOk());
  const std::vector<double> values = Values(x);
  double largest = 0.0;
  for (const double value : values)
    largest = std::max(largest, std::abs(value));
  const Tensor amax = Filled(DType::kF32, Shape({1, 1}), largest);
  ASSERT_THAT(PrepareInput(stream_, recipe, {x, amax}, &known), IsOk());
  EXPECT_THAT(Host(known.first.data).view(), BitwiseEq(Host(own.first.data)));
  EXPECT_THAT(Host(known.first.scale).view(), BitwiseEq(Host(own.first.scale)));
  // Another amax is taken at its word.
  const Tensor twice = Filled(DType::kF32, Shape({1, 1}), 2.0 * largest);
  ASSERT_THAT(PrepareInput(stream_, recipe, {x, twice}, &known), IsOk());
  EXPECT_EQ(Values(known.first.scale)[0] * 2.0, Values(own.first.scale)[0]);
}

}  // namespace
}  // namespace octet::float8
