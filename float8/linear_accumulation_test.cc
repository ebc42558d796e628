// SPDX-License-Identifier: Apache-2.0

// Which of a layer's three products sum fast. Looked at between the layer and
// the multiplication, on a device of host memory that does neither cast nor
// product.
#include <vector>

#include "absl/types/span.h"
#include "base/device_runtime.h"
#include "float8/cast_kernel.h"
#include "float8/gemm_kernel.h"
#include "float8/linear.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::float8 {
namespace {

using ::octet::testing::IsOk;
using ::testing::ElementsAre;

constexpr Device kFake = {DeviceKind::kCuda, 0};
constexpr Accumulation kFast = Accumulation::kFast;
constexpr Accumulation kPrecise = Accumulation::kPrecise;

std::vector<Accumulation>& Seen() {
  static std::vector<Accumulation> seen;
  return seen;
}

absl::Status NoCast(const Stream&, const TensorView&,
                    absl::Span<const internal::CastForm>, const CastOptions&) {
  return absl::OkStatus();
}

absl::Status Record(const Stream&, const internal::GemmArguments& arguments) {
  Seen().push_back(arguments.options.accumulation);
  return absl::OkStatus();
}

class LinearAccumulationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OCTET_ASSERT_OK_AND_ASSIGN(const DeviceRuntime* host,
                               GetDeviceRuntime(DeviceKind::kCpu));
    RegisterDeviceRuntime(DeviceKind::kCuda, *host);
    internal::CastSlot().Register(DeviceKind::kCuda, &NoCast);
    internal::GemmSlot().Register(DeviceKind::kCuda, &Record);
    OCTET_ASSERT_OK_AND_ASSIGN(stream_, Stream::Create(kFake));
  }

  Tensor Matrix(int64_t rows, int64_t cols) {
    return Tensor::Zeros(stream_, DType::kBf16, Shape({rows, cols})).value();
  }

  // Of forward, dgrad and wgrad, in this order.
  std::vector<Accumulation> AccumulationsOf(const Recipe& recipe) {
    const Tensor x = Matrix(8, 32), w = Matrix(16, 32), g = Matrix(8, 16),
                 y = Matrix(8, 16), dx = Matrix(8, 32), dw = Matrix(16, 32);
    LinearOperand x8, w8, g8;
    LinearGradients gradients;
    gradients.dx = dx;
    gradients.dw = dw;
    Seen().clear();
    absl::Status status = PrepareInput(stream_, recipe, {x}, &x8);
    status.Update(PrepareWeight(stream_, recipe, {w}, &w8));
    status.Update(LinearForward(stream_, recipe, x8, w8, {}, y));
    status.Update(LinearBackward(stream_, recipe, x8, w8, {g}, &g8, gradients));
    EXPECT_THAT(status, IsOk());
    return Seen();
  }

  Stream stream_;
};

TEST_F(LinearAccumulationTest, NamedRecipesAreFastInForwardAlone) {
  for (const char* name : {"tensorwise", "rowwise", "rowwise_gw_hp"}) {
    EXPECT_THAT(AccumulationsOf(*NamedRecipe(name)),
                ElementsAre(kFast, kPrecise, kPrecise))
        << name;
  }
  for (const char* name : {"bf16", "blockwise", "mxfp8"}) {
    EXPECT_THAT(AccumulationsOf(*NamedRecipe(name)),
                ElementsAre(kPrecise, kPrecise, kPrecise))
        << name;
  }
}

TEST_F(LinearAccumulationTest, EachProductHasItsOwn) {
  for (int fast = 0; fast < 3; ++fast) {
    Recipe recipe = *NamedRecipe("tensorwise");
    recipe.forward.fast_accumulation = fast == 0;
    recipe.dgrad.fast_accumulation = fast == 1;
    recipe.wgrad.fast_accumulation = fast == 2;
    EXPECT_THAT(
        AccumulationsOf(recipe),
        ElementsAre(fast == 0 ? kFast : kPrecise, fast == 1 ? kFast : kPrecise,
                    fast == 2 ? kFast : kPrecise));
  }
}

}  // namespace
}  // namespace octet::float8
