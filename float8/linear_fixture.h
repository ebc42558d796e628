// SPDX-License-Identifier: Apache-2.0

// What the tests of the linear layer share: a layer with its tensors.
#ifndef OCTET_FLOAT8_LINEAR_FIXTURE_H_
#define OCTET_FLOAT8_LINEAR_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/linear.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/random_tensor.h"
#include "testing/status_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {

inline constexpr GradientMode kOverwrite = GradientMode::kOverwrite;
inline constexpr GradientMode kAccumulate = GradientMode::kAccumulate;

struct Size {
  int64_t m, n, k;
};

class LinearTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OCTET_TEST_STREAM(stream);
    stream_ = stream;
  }

  // What this device multiplies.
  std::vector<Recipe> Recipes() {
    std::vector<Recipe> recipes;
    for (const std::string& name : RecipeNames()) {
      if (name == "mxfp8" && stream_.device().kind != DeviceKind::kCpu) {
        continue;
      }
      recipes.push_back(*NamedRecipe(name));
    }
    return recipes;
  }

  Tensor Random(DType dtype, const Shape& shape, uint64_t seed) {
    return *testing::ToDevice(stream_,
                              *testing::RandomTensor(dtype, shape, seed));
  }
  Tensor Filled(DType dtype, const Shape& shape, double value) {
    const std::vector<double> values(shape.num_elements(), value);
    return *testing::ToDevice(stream_,
                              *testing::FromDoubles(values, dtype, shape));
  }
  Tensor Host(const TensorView& device) {
    EXPECT_THAT(stream_.Synchronize(), testing::IsOk());
    return *testing::ToHost(stream_, device);
  }
  std::vector<double> Values(const TensorView& device) {
    return *testing::ToDoubles(Host(device));
  }

  Stream stream_;
};

// A layer's tensors and its last results.
struct Layer {
  Layer(const Stream& s, const Recipe& r, DType dtype, const Size& size)
      : stream(s),
        recipe(r),
        state{DelayedScale(r.delayed), DelayedScale(r.delayed),
              DelayedScale(r.delayed)} {
    y = *Tensor::Allocate(dtype, Shape({size.m, size.n}), s.device());
    dx = *Tensor::Allocate(dtype, Shape({size.m, size.k}), s.device());
    dw = *Tensor::Allocate(dtype, Shape({size.n, size.k}), s.device());
  }

  absl::Status Forward(const TensorView& x_value, const TensorView& w_value,
                       const TensorView& bias = {}) {
    absl::Status status =
        PrepareInput(stream, recipe, {x_value, {}, &state.input}, &x);
    status.Update(
        PrepareWeight(stream, recipe, {w_value, {}, &state.weight}, &w));
    status.Update(LinearForward(stream, recipe, x, w, bias, y));
    return status;
  }
  absl::Status Backward(const TensorView& g, GradientMode dx_mode,
                        GradientMode dw_mode) {
    LinearGradients gradients;
    gradients.dx = dx;
    gradients.dx_mode = dx_mode;
    gradients.dw = dw;
    gradients.dw_mode = dw_mode;
    return LinearBackward(stream, recipe, x, w, {g, {}, &state.grad_output},
                          &g_casts, gradients);
  }

  Stream stream;
  Recipe recipe;
  LinearState state;
  LinearOperand x, w, g_casts;
  Tensor y, dx, dw;
};

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_LINEAR_FIXTURE_H_
