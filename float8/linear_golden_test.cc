// SPDX-License-Identifier: Apache-2.0

// The linear layer against torchao: every cast operand bit by bit, outputs and
// gradients by norm.

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/cast.h"
#include "float8/linear.h"
#include "gtest/gtest.h"
#include "testing/goldens.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {
namespace {

using octet::testing::BitwiseEq;
using octet::testing::IsOk;
using octet::testing::LoadGolden;
using octet::testing::RelativeError;
using octet::testing::ToDevice;
using octet::testing::ToHost;

struct RecipeCase {
  const char* ours;
  const char* torchao;
};

class LinearGoldenTest
    : public ::testing::TestWithParam<std::tuple<const char*, RecipeCase>> {};

struct Outputs {
  Tensor y;
  Tensor dx;
  Tensor dw;
};

// One forward and backward on the device of the stream, results on the host.
absl::Status RunLayer(const Stream& stream, const Recipe& recipe,
                      const io::SafetensorsFile& golden, DType dtype,
                      LinearOperand* x, LinearOperand* w, Tensor* x_memory,
                      Tensor* w_memory, Outputs* out) {
  OCTET_ASSIGN_OR_RETURN(const TensorView x_host, golden.Find("x"));
  OCTET_ASSIGN_OR_RETURN(const TensorView w_host, golden.Find("w"));
  OCTET_ASSIGN_OR_RETURN(const TensorView g_host, golden.Find("grad_output"));
  OCTET_ASSIGN_OR_RETURN(*x_memory, ToDevice(stream, x_host));
  OCTET_ASSIGN_OR_RETURN(*w_memory, ToDevice(stream, w_host));
  OCTET_ASSIGN_OR_RETURN(const Tensor g, ToDevice(stream, g_host));
  const auto make = [&](const Shape& shape) {
    return Tensor::Allocate(dtype, shape, stream.device());
  };
  OCTET_ASSIGN_OR_RETURN(const Tensor y, make(g.shape()));
  OCTET_ASSIGN_OR_RETURN(const Tensor dx, make(x_memory->shape()));
  OCTET_ASSIGN_OR_RETURN(const Tensor dw, make(w_memory->shape()));
  LinearState state;
  OCTET_RETURN_IF_ERROR(
      PrepareInput(stream, recipe, {*x_memory, {}, &state.input}, x));
  OCTET_RETURN_IF_ERROR(
      PrepareWeight(stream, recipe, {*w_memory, {}, &state.weight}, w));
  OCTET_RETURN_IF_ERROR(LinearForward(stream, recipe, *x, *w, TensorView(), y));
  LinearOperand g_casts;
  LinearGradients gradients;
  gradients.dx = dx;
  gradients.dw = dw;
  gradients.dw_mode = GradientMode::kOverwrite;
  OCTET_RETURN_IF_ERROR(LinearBackward(stream, recipe, *x, *w,
                                       {g, {}, &state.grad_output}, &g_casts,
                                       gradients));
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  OCTET_ASSIGN_OR_RETURN(out->y, ToHost(stream, y));
  OCTET_ASSIGN_OR_RETURN(out->dx, ToHost(stream, dx));
  OCTET_ASSIGN_OR_RETURN(out->dw, ToHost(stream, dw));
  return absl::OkStatus();
}

// "cast.x.row.pow2.e4m3": what a plan makes of an operand.
std::string CastName(const char* operand, const CastPlan& plan) {
  const char* granularity = plan.granularity == Granularity::kTensor ? "tensor"
                            : plan.granularity == Granularity::kRow  ? "row"
                                                                     : "col";
  return absl::StrCat(
      "cast.", operand, ".", granularity, ".",
      plan.rounding == ScaleRounding::kPowerOfTwo ? "pow2" : "exact", ".",
      plan.dtype == DType::kF8E4M3 ? "e4m3" : "e5m2");
}

void ExpectCastOf(const Stream& stream, const io::SafetensorsFile& golden,
                  const char* operand, const Quantized& q) {
  const std::string name = CastName(operand, q.plan);
  SCOPED_TRACE(name);
  OCTET_ASSERT_OK_AND_ASSIGN(const TensorView data,
                             golden.Find(absl::StrCat(name, ".data")));
  OCTET_ASSERT_OK_AND_ASSIGN(const TensorView scale,
                             golden.Find(absl::StrCat(name, ".scale")));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor our_data, ToHost(stream, q.data));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor our_scale, ToHost(stream, q.scale));
  EXPECT_THAT(our_data.view(),
              BitwiseEq(TensorView(data.data(), q.plan.dtype, data.shape())));
  EXPECT_THAT(our_scale.view().Reshaped(scale.shape()), BitwiseEq(scale));
}

TEST_P(LinearGoldenTest, MatchesTorchao) {
  OCTET_TEST_STREAM(stream);
  const bool on_gpu = stream.device().kind != DeviceKind::kCpu;
  const auto [file, names] = GetParam();
  OCTET_ASSERT_OK_AND_ASSIGN(const io::SafetensorsFile golden,
                             LoadGolden(file));
  OCTET_ASSERT_OK_AND_ASSIGN(const Recipe recipe, NamedRecipe(names.ours));
  Tensor x_memory, w_memory;
  LinearOperand x, w;
  Outputs f32, bf16;
  ASSERT_THAT(RunLayer(stream, recipe, golden, DType::kF32, &x, &w, &x_memory,
                       &w_memory, &f32),
              IsOk());
  ASSERT_THAT(RunLayer(stream, recipe, golden, DType::kBf16, &x, &w, &x_memory,
                       &w_memory, &bf16),
              IsOk());

  for (const Quantized* q : {&x.first, &x.second}) {
    if (q->data.num_elements() > 0) ExpectCastOf(stream, golden, "x", *q);
  }
  for (const Quantized* q : {&w.first, &w.second}) {
    if (q->data.num_elements() > 0) ExpectCastOf(stream, golden, "w", *q);
  }
  OCTET_ASSERT_OK_AND_ASSIGN(const TensorView g_host,
                             golden.Find("grad_output"));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor g, ToDevice(stream, g_host));
  for (const OperandPlan* plan : {&recipe.dgrad.a, &recipe.wgrad.a}) {
    if (!plan->is_float8) continue;
    Quantized q;
    ASSERT_THAT(Cast(stream, g, plan->cast, &q), IsOk());
    ExpectCastOf(stream, golden, "grad_output", q);
  }

  const std::vector<std::tuple<const char*, const Tensor*, const Tensor*>>
      outputs = {{"y", &f32.y, &bf16.y},
                 {"grad_x", &f32.dx, &bf16.dx},
                 {"grad_w", &f32.dw, &bf16.dw}};
  for (const auto& [name, our_f32, our_bf16] : outputs) {
    SCOPED_TRACE(name);
    OCTET_ASSERT_OK_AND_ASSIGN(
        const TensorView emulated,
        golden.Find(absl::StrCat(names.torchao, ".emulated.", name)));
    OCTET_ASSERT_OK_AND_ASSIGN(
        const TensorView gpu,
        golden.Find(absl::StrCat(names.torchao, ".gpu.", name)));
    OCTET_ASSERT_OK_AND_ASSIGN(const TensorView exact,
                               golden.Find(absl::StrCat("bf16.", name)));
    // Theirs are rounded to bf16, which in f32 alone shows as 1.7e-3; rounded
    // alike, only sums that lie at the edge of two bf16 values differ.
    EXPECT_LT(RelativeError(*our_f32, emulated), 3e-3);
    // The H200, which torchao ran on too, is up to 2.1e-3 from the emulation.
    EXPECT_LT(RelativeError(*our_bf16, emulated), on_gpu ? 2.5e-3 : 1e-3);
    EXPECT_LT(RelativeError(*our_bf16, gpu), 3e-3);
    // Quantisation costs us no more than it costs torchao. The slack is for
    // those edges: an error of e beside one of 0.02 or more, independent of it,
    // moves the norm by e^2 / 0.04, and e is below 1e-3 (checked above). Where
    // torchao's is zero (wgrad in bf16), e alone remains.
    EXPECT_LE(RelativeError(*our_bf16, exact),
              RelativeError(emulated, exact) * (1 + 1e-3) + 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LinearGoldenTest,
    ::testing::Combine(
        ::testing::Values("linear/linear_48x64x32.safetensors",
                          "linear_outlier/linear_64x128x96.safetensors"),
        ::testing::Values(RecipeCase{"tensorwise", "tensorwise"},
                          RecipeCase{"rowwise", "rowwise"},
                          RecipeCase{"rowwise_gw_hp", "rowwise_with_gw_hp"})));

}  // namespace
}  // namespace octet::float8
