// SPDX-License-Identifier: Apache-2.0

#include "float8/gemm_scales_fixture.h"

#include <limits>
#include <utility>

#include "float8/cast.h"
#include "testing/numbers.h"
#include "testing/random_tensor.h"
#include "testing/status_matchers.h"

namespace octet::float8 {
namespace {

using octet::testing::FromDoubles;
using octet::testing::IsOk;
using octet::testing::ToDoubles;

constexpr double kPoison = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double GemmScalesTest::Tolerance(Accumulation accumulation) const {
  if (!IsGpu()) return 3e-6;
  return accumulation == Accumulation::kPrecise ? 7e-4 : 2e-3;
}

Tensor GemmScalesTest::Random(const Shape& shape, uint64_t seed) {
  octet::testing::RandomOptions options;
  options.outliers = 3;
  absl::StatusOr<Tensor> host =
      octet::testing::RandomTensor(DType::kBf16, shape, seed, options);
  EXPECT_THAT(host, IsOk());
  return *std::move(host);
}

Tensor GemmScalesTest::OnDevice(const TensorView& host) {
  absl::StatusOr<Tensor> device = octet::testing::ToDevice(stream_, host);
  EXPECT_THAT(device, IsOk());
  return *std::move(device);
}

Quantized GemmScalesTest::Quantise(const TensorView& host,
                                   Granularity granularity,
                                   ScaleRounding rounding, DType dtype) {
  Quantized q, on_device;
  EXPECT_THAT(Cast(Stream(), host, {dtype, granularity, rounding}, &q), IsOk());
  on_device.plan = q.plan;
  on_device.data = OnDevice(q.data);
  on_device.scale = OnDevice(q.scale);
  return on_device;
}

void GemmScalesTest::AddForms(Quantized* q) {
  const int64_t rows = q->data.view().rows(), cols = q->data.view().cols();
  const Tensor data = *octet::testing::ToHost(stream_, q->data);
  const Tensor scale = *octet::testing::ToHost(stream_, q->scale);
  const Tensor flipped =
      *Tensor::Allocate(q->data.dtype(), Shape({cols, rows}));
  for (int64_t i = 0; i < rows * cols; ++i) {
    flipped.as<uint8_t>()[i % cols * rows + i / cols] = data.as<uint8_t>()[i];
  }
  q->transposed = OnDevice(flipped);
  const Granularity g = q->plan.granularity;
  // Scales of 1x128 tiles lie along the rows; others as the matrix does.
  q->reciprocal = Reciprocals(scale, ReciprocalShape(g, rows, cols),
                              g == Granularity::kBlock1x128);
  if (g == Granularity::kBlock128x128) {
    q->transposed_reciprocal =
        Reciprocals(scale, ReciprocalShape(g, cols, rows), true);
  }
}

// 1 / scale[i, j] at [i, j], or [j, i], of `shape`; NaN in its padding, which
// must not matter.
Tensor GemmScalesTest::Reciprocals(const TensorView& scale, const Shape& shape,
                                   bool is_flipped) {
  std::vector<double> values(shape.num_elements(), kPoison);
  const int64_t width = shape.cols(), across = scale.cols();
  for (int64_t i = 0; i < scale.num_elements(); ++i) {
    const int64_t row = i / across, col = i % across;
    const int64_t at = shape.rank() == 1 ? i
                       : is_flipped      ? col * width + row
                                         : row * width + col;
    values[at] = 1.0f / scale.as<float>()[i];
  }
  return OnDevice(*FromDoubles(values, DType::kF32, shape));
}

std::vector<double> GemmScalesTest::Meaning(const Quantized& q) {
  EXPECT_THAT(stream_.Synchronize(), IsOk());
  std::vector<double> values = *ToDoubles(q.data);
  const std::vector<double> scales = *ToDoubles(q.scale);
  const int64_t rows = q.data.view().rows(), cols = q.data.view().cols();
  const Tile tile = TileOf(q.plan.granularity);
  const int64_t across = q.scale.view().cols();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) {
      values[i * cols + j] /=
          scales[(tile.rows == 0 ? 0 : i / tile.rows) * across +
                 (tile.cols == 0 ? 0 : j / tile.cols)];
    }
  }
  return values;
}

Tensor GemmScalesTest::Product(const std::vector<double>& a,
                               const std::vector<double>& b, int64_t m,
                               int64_t n, int64_t k) {
  std::vector<double> out(m * n, 0.0);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0.0;
      for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[j * k + p];
      out[i * n + j] = sum;
    }
  }
  return *FromDoubles(out, DType::kF64, Shape({m, n}));
}

Tensor GemmScalesTest::Run(const GemmOperand& a, const GemmOperand& b,
                           int64_t m, int64_t n, const GemmOptions& options) {
  const Tensor out = OnDevice(*FromDoubles(std::vector<double>(m * n, kPoison),
                                           DType::kF32, Shape({m, n})));
  EXPECT_THAT(Gemm(stream_, a, b, options, out), IsOk());
  absl::StatusOr<Tensor> host = octet::testing::ToHost(stream_, out);
  EXPECT_THAT(host, IsOk());
  return *std::move(host);
}

Granularity Flipped(Granularity granularity) {
  switch (granularity) {
    case Granularity::kRow:
      return Granularity::kColumn;
    case Granularity::kBlock1x128:
      return Granularity::kBlock128x1;
    case Granularity::kBlock1x32:
      return Granularity::kBlock32x1;
    default:
      return granularity;
  }
}

}  // namespace octet::float8
