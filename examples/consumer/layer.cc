// SPDX-License-Identifier: Apache-2.0

// One linear layer in tensorwise float8, forward and backward, on a GPU if
// there is one: y = x w^T, dx = g w, dw = g^T x.
#include <iostream>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/device.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/linear.h"
#include "float8/recipe.h"

namespace f8 = octet::float8;
using octet::DType;
using octet::Shape;
using octet::Stream;
using octet::Tensor;

namespace {

constexpr int64_t kM = 64, kN = 128, kK = 256;

// [rows, cols] f32 on the stream's device, all of one value.
absl::StatusOr<Tensor> Filled(const Stream& stream, int64_t rows, int64_t cols,
                              float value) {
  const std::vector<float> host(rows * cols, value);
  absl::StatusOr<Tensor> tensor =
      Tensor::Allocate(DType::kF32, Shape({rows, cols}), stream.device());
  if (!tensor.ok()) return tensor;
  const absl::Status status =
      octet::Copy(stream,
                  octet::TensorView::Of(absl::MakeConstSpan(host), DType::kF32)
                      .Reshaped(Shape({rows, cols})),
                  *tensor);
  if (!status.ok()) return status;
  return tensor;
}

absl::Status Print(const Stream& stream, const char* name,
                   const Tensor& tensor) {
  float first = 0.0f;
  const octet::TensorView one = tensor.view().RowSlice(0, 1);
  std::vector<float> row(one.num_elements());
  absl::Status status =
      octet::Copy(stream, one,
                  octet::TensorView::Of(absl::MakeSpan(row), DType::kF32)
                      .Reshaped(one.shape()));
  status.Update(stream.Synchronize());
  if (status.ok()) first = row[0];
  std::cout << name << "[0, 0] = " << first << "\n";
  return status;
}

absl::Status Run(const Stream& stream) {
  const absl::StatusOr<f8::Recipe> recipe = f8::NamedRecipe("tensorwise");
  const absl::StatusOr<Tensor> x = Filled(stream, kM, kK, 0.5f);
  const absl::StatusOr<Tensor> w = Filled(stream, kN, kK, 0.25f);
  const absl::StatusOr<Tensor> g = Filled(stream, kM, kN, 1.0f);
  const absl::StatusOr<Tensor> y = Filled(stream, kM, kN, 0.0f);
  const absl::StatusOr<Tensor> dx = Filled(stream, kM, kK, 0.0f);
  const absl::StatusOr<Tensor> dw = Filled(stream, kN, kK, 0.0f);
  for (const absl::StatusOr<Tensor>* tensor : {&x, &w, &g, &y, &dx, &dw}) {
    if (!tensor->ok()) return tensor->status();
  }
  // They own the float8 bytes, and are filled again in place.
  f8::LinearOperand x8, w8, g8;
  f8::LinearGradients gradients;
  gradients.dx = *dx;
  gradients.dw = *dw;
  absl::Status status = f8::PrepareWeight(stream, *recipe, {*w}, &w8);
  status.Update(f8::PrepareInput(stream, *recipe, {*x}, &x8));
  status.Update(f8::LinearForward(stream, *recipe, x8, w8, {}, *y));
  status.Update(
      f8::LinearBackward(stream, *recipe, x8, w8, {*g}, &g8, gradients));
  status.Update(Print(stream, "y", *y));    // 256 * 0.5 * 0.25 = 32
  status.Update(Print(stream, "dx", *dx));  // 128 * 1 * 0.25 = 32
  status.Update(Print(stream, "dw", *dw));  // 64 * 1 * 0.5 = 32
  return status;
}

}  // namespace

int main() {
  const absl::StatusOr<octet::Device> device = octet::ResolveDevice("auto");
  const absl::StatusOr<Stream> stream =
      device.ok() ? Stream::Create(*device) : device.status();
  const absl::Status status = stream.ok() ? Run(*stream) : stream.status();
  if (!status.ok()) {
    std::cerr << status << "\n";
    return 1;
  }
  std::cout << "on " << device->ToString() << "\n";
}
